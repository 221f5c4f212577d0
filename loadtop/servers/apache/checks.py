"""Apache in ``loadtop doctor``."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from loadtop.i18n import Message, Text, grouped, listed
from loadtop.model import Cause, HostSample
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.checks import Checks, Lack


def _seen(pages: tuple[ApacheStatus, ...]) -> Text:
    return grouped(
        Message(
            "{mpm}, {number} slots ({url})",
            mpm=page.mpm or Message("MPM unknown"),
            number=page.capacity,
            url=page.url,
        )
        for page in pages
    )


def _lacks(pages: tuple[ApacheStatus, ...], sample: HostSample) -> Lack:
    unknown = [name for page in pages for name in _unknown_limits(page)]
    if not unknown:
        return _backlog_cut(pages, sample)
    names = listed(dict.fromkeys(unknown))
    return Lack(Message("{names} unknown: its configuration may not be read", names=names), Cause.ROOT)


def _backlog_cut(pages: tuple[ApacheStatus, ...], sample: HostSample) -> Lack:
    """A ListenBacklog that the kernel cuts to net.core.somaxconn (listen(2))."""
    limits = {listener.port: listener.backlog for listener in (sample.tcp.listeners if sample.tcp is not None else ())}
    for page in pages:
        parts = urlsplit(page.url)
        limit = limits.get(parts.port or (443 if parts.scheme == "https" else 80))
        if limit and page.listen_backlog is not None and limit < page.listen_backlog:
            asked = page.listen_backlog
            return Lack(
                Message(
                    "its ListenBacklog of {asked} is cut to {limit} by net.core.somaxconn", asked=asked, limit=limit
                ),
                fix=Message("sudo sysctl -w net.core.somaxconn={asked}   (then restart Apache)", asked=asked),
            )
    return Lack()


def _unknown_limits(page: ApacheStatus) -> Iterable[str]:
    if page.max_request_workers is None:
        yield "MaxRequestWorkers"
    if page.listen_backlog is None:
        yield "ListenBacklog"


CHECKS = Checks(_seen, _lacks)
