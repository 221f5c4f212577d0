"""The uWSGIs of one machine: their stats servers, which send what they know as JSON to everyone who connects.

Source: uWSGI, "The uWSGI Stats Server", and its core/stats.c and core/master_utils.c. The answer has the variables of
the requests that are being served, with their cookies: nothing of them is kept.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from collectors.accept_queues import AcceptQueues
from collectors.config_files import View
from collectors.errors import AbsentError, ParseError
from collectors.kind import Kind
from collectors.machine import Endpoint, Page
from collectors.parsing import LONGEST_TEXT, count_or_none, excerpt, short
from collectors.places import here
from collectors.server_collector import Candidates, ServerCollector
from collectors.uwsgi import configuration
from loadtop.model import HostSample
from loadtop.servers.uwsgi.record import SERVER, UwsgiStatus

KIND = Kind(
    *SERVER,
    processes=re.compile(r"uwsgi(?:-core)?|uWSGI.{0,99}", re.ASCII | re.DOTALL),
)

FIX = "stats = 127.0.0.1:9191"  # for its ini file
_CHEAP = "cheap"


class UwsgiCollector(ServerCollector[UwsgiStatus]):
    kind = KIND
    option_value = "ADDRESS"

    async def fetch(self, url: str, timeout_s: float) -> Page:
        answer = await self.machine.ask(url, b"", timeout_s)
        return Page(url, 200, answer.decode("utf-8", "replace"))

    def records(self, page: Page, at: float) -> Sequence[UwsgiStatus]:
        return (replace(parse_page(page), at=at),)

    async def candidates_of(self, pid: int, view: View, places: Sequence[Endpoint]) -> Sequence[Candidates]:  # noqa: ARG002 - configured
        addresses = await configuration.stats_servers(view, pid)
        return [(each, None) for each in addresses] or [((), self._without(foreign=view.foreign))]

    def completed(self, record: UwsgiStatus, sample: HostSample, queues: AcceptQueues) -> UwsgiStatus:  # noqa: ARG002 - for others
        """With the kernel's queues: uWSGI knows none of unix sockets."""
        known = [queue for address in record.sockets if (queue := queues.at(address)) is not None]
        return replace(record, listen_queue=sum(known) if known else None)

    @staticmethod
    def _without(*, foreign: bool) -> AbsentError:
        if foreign:
            return AbsentError(
                "uWSGI is running, but it is another user's: its configuration is not read. "
                "Set its stats server with --uwsgi ADDRESS."
            )
        return AbsentError(
            "found no stats server of uWSGI: add this to its ini file and restart uWSGI, or "
            "set one with --uwsgi ADDRESS",
            fix=FIX,
        )


def parse_page(page: Page) -> UwsgiStatus:
    """The status in an answer. Raises :class:`AbsentError` with what to do where there is none."""
    try:
        return parse(page.text, page.url)
    except ParseError as error:
        raise AbsentError("{error}: set the address of a stats server with --uwsgi ADDRESS", error=str(error)) from None


def parse(text: str, url: str = "") -> UwsgiStatus:
    """One answer, with HTTP's head where it has one (``stats-http``). Raises :class:`ParseError`."""
    try:
        stats: Any = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        raise ParseError(f"the response is cut off or not the JSON of uWSGI: {excerpt(text)}") from None
    workers = _objects(stats, "workers")
    if not workers:
        raise ParseError("the response has no uWSGI workers")
    cores = [(worker.get("status") == _CHEAP, core) for worker in workers for core in _cores(worker)]
    cheap = sum(is_cheap for is_cheap, _ in cores)
    active = sum(not is_cheap and core.get("in_request") == 1 for is_cheap, core in cores)
    sockets = tuple(here(_text(each, "name")) for each in _objects(stats, "sockets"))
    return UwsgiStatus(
        url=url,
        address=next(iter(sockets), ""),
        version=_text(stats, "version"),
        workers=len(workers),
        threads=max(1, len(cores) // len(workers)),
        active=active,
        idle=len(cores) - cheap - active,
        cheap=cheap,
        requests=_sum(workers, "requests"),
        exceptions=_sum(workers, "exceptions"),
        sockets=sockets,
    )


def _objects(parent: Any, name: str) -> list[dict[str, Any]]:
    """The objects of a list."""
    found: Any = cast("dict[str, Any]", parent).get(name) if isinstance(parent, dict) else None
    items: list[Any] = cast("Any", found) if isinstance(found, list) else []
    return [cast("dict[str, Any]", each) for each in items if isinstance(each, dict)]


def _cores(worker: dict[str, Any]) -> list[dict[str, Any]]:
    """With ``stats-no-cores`` the status of a worker stands for its only one."""
    return _objects(worker, "cores") or [{"in_request": worker.get("status") == "busy"}]


def _text(parent: dict[str, Any], name: str) -> str:
    value = parent.get(name)
    return short(value, LONGEST_TEXT) if isinstance(value, str) else ""


def _sum(workers: Sequence[dict[str, Any]], name: str) -> int | None:
    known = [count for worker in workers if (count := count_or_none(str(worker.get(name)))) is not None]
    return sum(known) if known else None
