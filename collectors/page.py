"""A page as a web server gave it."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Page:
    """One answer: ``url`` is without user and password, ``text`` is cut at 1 MiB; ``took_s`` is the time from the
    request's start to the last byte."""

    url: str
    status: int
    content_type: str
    text: str
    took_s: float


def without_credentials(url: str) -> str:
    """The URL as it may be shown and recorded: without user and password. What is no URL is not shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not a URL)"
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
