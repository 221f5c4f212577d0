"""The line: an interface that carries nearly what it can."""

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import evidence_of
from loadtop.diagnosis.verdict import Family, Verdict, Where
from loadtop.i18n import Message
from loadtop.i18n.message import Parameter
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import NetworkRates

NAME = "network"

UTIL_PCT = 85.0
UTIL_CLEAR_PCT = 75.0
"""Percent of the line's speed in its fuller direction: PCP's pernetif/util 85; cleared at 75."""

RETRANSMITS_S = 5.0
"""Segments per second that were sent again: a vote only; our own."""

MADE_UP = {"veth": 10_000, "tun": 10, "tap": 10, "lo": 0}
"""Speeds in Mbit/s that drivers of lines which are none report, whatever they can carry (Linux, drivers/net)."""


def fullest(host: HostView) -> NetworkRates | None:
    """The interface that is nearest to its line's speed, where one is known."""
    networks = None if host.rates is None else host.rates.networks
    lines = [line for line in networks or () if line.util is not None and not _is_made_up(line)]
    return max(lines, key=lambda line: line.util or 0.0, default=None)


def assess(_: Measured, host: HostView) -> Assessment | None:
    """``network`` for one machine: its fullest line, where the speed of one is known."""
    line = fullest(host)
    if line is None or line.util is None or not line.link_mbit:
        return None
    again = None if host.rates is None or host.rates.tcp is None else host.rates.tcp.retransmits
    name = f"network.{line.name}"
    out = line.tx_kb >= line.rx_kb
    carried = max(line.tx_kb, line.rx_kb) * 8 * 1024 / 1e6
    return Assessment(
        NAME,
        host.name,
        over=line.util > UTIL_PCT,
        held=line.util > UTIL_CLEAR_PCT,
        evidence=evidence_of(
            host.name,
            (f"{name}.util_pct", line.util, UTIL_PCT, "%", "PCP pernetif/util: over 85 %"),
            (f"{name}.{'tx' if out else 'rx'}_mbit_s", carried, line.link_mbit, "Mbit/s", "line speed"),
            ("tcp.retransmits_s", again, RETRANSMITS_S, "/s", "loadtop: a vote only"),
        ),
        advice=lambda: _advice(line, carried, sends=out),
        confidence=agreement(line.util > 95.0, exceeds(again, RETRANSMITS_S)),
    )


def _advice(line: NetworkRates, carried: float, *, sends: bool) -> Message:
    figures: dict[str, Parameter] = {"interface": line.name, "carried": carried, "speed": line.link_mbit}
    if sends:
        return Message(
            "{interface} sends {carried:.3g} of {speed} Mbit/s: compress (mod_deflate, mod_brotli), let clients cache, "
            "or use a faster line.",
            **figures,
        )
    return Message(
        "{interface} receives {carried:.3g} of {speed} Mbit/s: compress (mod_deflate, mod_brotli), let clients cache, "
        "or use a faster line.",
        **figures,
    )


def _is_made_up(line: NetworkRates) -> bool:
    kind = line.name.rstrip("0123456789")
    return any(kind.startswith(driver) and line.link_mbit == speed for driver, speed in MADE_UP.items())


NETWORK = Verdict(
    name=NAME,
    letter="N",
    title="NETWORK",
    sentence="The network line is the limit",
    headline="the line is the limit",
    clause=True,
    family=Family.NETWORK,
    explains=(Family.POOL,),
    of_host=assess,
    where=Where.EVERYWHERE,
    titles={"tcp.retransmits_s": "segments sent again"},
)
