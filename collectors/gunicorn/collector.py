"""The gunicorn servers of one machine. They have no status page: the kernel lists the connections that their workers
have accepted, and those in the accept queue.

Source: gunicorn's documentation, "Settings" and "Design": a synchronous worker serves one connection at a time and
keeps none alive, a worker with threads one for each of them, an asynchronous one any number. Threads without a worker
class make it ``gthread``. Linux, net/ipv4/inet_diag.c: a connection that was not accepted yet has no inode.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from collectors.accept_queues import AcceptQueues
from collectors.config_files import View, command_options, config_file
from collectors.errors import AbsentError, FetchError, ParseError, TransportError
from collectors.kind import Kind
from collectors.linux import sockets
from collectors.linux.unix_sockets import STREAMS, count_streams
from collectors.machine import Endpoint, Page, lines_of
from collectors.parsing import count_or_none, short
from collectors.places import here
from collectors.server_collector import Candidates, ServerCollector
from loadtop.i18n import Message, verbatim
from loadtop.model import HostSample
from loadtop.servers.gunicorn.record import GROUP, SERVER, GunicornPool

KIND = Kind(
    *SERVER,
    processes=re.compile(r"gunicorn.{0,99}", re.ASCII | re.DOTALL),
)

_DEFAULT = "127.0.0.1:8000"
_SHORT = {"b": "bind", "c": "config", "k": "worker_class"}
_SETTING = re.compile(r"(\w{1,99})\s{0,99}=\s{0,99}[\"']?([^\s\"',]{1,4096})", re.ASCII)


class Settings(Struct, frozen=True):
    """The relevant settings of one gunicorn. ``worker_class`` is empty where the title of the process hides it."""

    pid: int = 0
    bind: tuple[str, ...] = ()
    worker_class: str = ""
    threads: int | None = None


class GunicornCollector(ServerCollector[GunicornPool]):
    kind = KIND
    _settings: Mapping[str, Settings] = {}

    async def fetch(self, url: str, timeout_s: float) -> Page:  # noqa: ARG002 - the kernel answers at once
        """The number of connections that the workers have accepted at an address."""
        unix = url.startswith("/")
        try:
            texts = await self.machine.texts((STREAMS,) if unix else sockets.OPEN_TABLES)
            tables = [text for text in texts.values() if isinstance(text, str)]
            port = url.rpartition(":")[2]
            number = sum(count_streams(table, url) if unix else sockets.count_accepted(table, port) for table in tables)
        except TransportError as error:
            raise FetchError(error.message) from None
        except ParseError as error:
            raise FetchError(verbatim(str(error))) from None
        return Page(url, 200, str(number))

    def records(self, page: Page, at: float) -> Sequence[GunicornPool]:
        return (GunicornPool(address=page.url, connections=count_or_none(page.text), at=at),)

    async def candidates_of(self, pid: int, view: View, places: Sequence[Endpoint]) -> Sequence[Candidates]:
        settings = await settings_of(view, pid)
        addresses = dict.fromkeys(here(str(place)) for place in places) or dict.fromkeys(settings.bind)
        self._settings = {**self._settings, **dict.fromkeys(addresses, settings)}
        return [((address,), None) for address in addresses]

    @property
    def in_own_network(self) -> AbsentError:
        return AbsentError("gunicorn runs in a container with its own network")

    @staticmethod
    def lacks(record: GunicornPool) -> Message | None:
        if record.worker_class:
            return None
        return Message(
            "gunicorn's settings are hidden (setproctitle, or another user's process): "
            "loadtop cannot tell whether all workers are busy."
        )

    def completed(self, record: GunicornPool, sample: HostSample, queues: AcceptQueues) -> GunicornPool:
        settings = self._settings.get(record.address, Settings())
        members = (row.pid for row in sample.processes or () if row.group == GROUP and row.pid != settings.pid)
        workers = sum(settings.pid in (each.pid for each in self.machine.lineage(pid)) for pid in members)
        pool = replace(
            record,
            workers=workers or None,
            threads=settings.threads,
            listen_queue=queues.at(record.address),
            worker_class=settings.worker_class,
        )
        connections, slots = pool.connections, pool.slots
        return replace(pool, active=connections if connections is None or not slots else min(connections, slots))


async def settings_of(view: View, pid: int) -> Settings:
    """From the command line, and the file that it names or the usual one. Raises ``TransportError``."""
    if len(view.command) < 2:  # only a title
        return Settings(pid)
    options = list(command_options(view.command))
    name = next((value for name, value in options if name in ("c", "config")), "gunicorn.conf.py")
    path = name.removeprefix("file:")
    outside = path if path.startswith("/") else f"/proc/{pid}/cwd/{path}"
    seen = view if path.startswith("/") else replace(view, root="")
    text = (await seen.texts((config_file(outside),)))[outside]
    lines = (match for line in lines_of(text)[:1000] if (match := _SETTING.match(line)))
    return parse(pid, [*((match[1], match[2]) for match in lines), *options])


def parse(pid: int, options: Iterable[tuple[str, str]]) -> Settings:
    """The settings that these options make; later ones win."""
    options = [(_SHORT.get(name, name.replace("-", "_")), value) for name, value in options]
    known = dict(options)
    threads = count_or_none(known.get("threads")) or 1
    worker_class = short(known.get("worker_class", "sync"))
    if worker_class == "sync" and threads > 1:
        worker_class = "gthread"
    bind = tuple(here(value.removeprefix("unix:")) for name, value in options if name == "bind") or (_DEFAULT,)
    each = {"sync": 1, "gthread": threads}.get(worker_class)
    return Settings(pid, bind, worker_class, each)
