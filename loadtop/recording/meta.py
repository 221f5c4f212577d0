"""What is known of a session before its first frame."""

from dataclasses import dataclass

from loadtop.model.secrets import without_secrets
from loadtop.recording.place import default_path

__all__ = ["SessionMeta", "default_path", "without_secrets"]


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """A session as a whole. ``started`` is seconds since the epoch; ``command_line`` and ``url`` hold no secrets."""

    started: float
    command_line: tuple[str, ...]
    url: str
    version: str
    interval_s: float
    title: str = ""
