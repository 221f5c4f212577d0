"""HAProxy in the reports and the line per interval."""

from collections.abc import Sequence

from loadtop.i18n import plain, tr
from loadtop.i18n.numbers import mean_figure
from loadtop.rates.records import ServerRates
from loadtop.servers.haproxy.record import BACKEND, FRONTEND, NAME, HaproxyProxy
from loadtop.servers.report import Json, Report


def _rows(host: Json) -> list[str]:
    """A row per frontend, per backend, and per server with a queue."""
    return [
        tr(
            "  haproxy  {name}  {queue}sessions {sessions}{limit}  {rate} sessions/s",
            name=f"{plain(line['proxy'])}/{plain(line['server'])}",
            queue="" if line["server"] == FRONTEND else tr("queue {number}  ", number=mean_figure(line["queue"])),
            sessions=mean_figure(line["sessions"]),
            limit="" if line["session_limit"] is None else tr(" of {number}", number=line["session_limit"]),
            rate=mean_figure(line["sessions_s"]),
        )
        for line in host[NAME]
        if line["server"] in (FRONTEND, BACKEND) or (line["queue"] is not None and line["queue"]["max"])
    ]


def _brief(lines: Sequence[ServerRates[HaproxyProxy]]) -> str:
    queued = sum(each.reading.queue or 0 for each in lines if each.reading.is_backend)
    return tr(" haproxy queue {number}", number=queued) if queued else ""


REPORT: Report[HaproxyProxy] = Report(rows=_rows, brief=_brief, settings=lambda _: ())
