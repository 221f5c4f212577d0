"""The limit under each load, in words, for the reports and for the cockpit after a test."""

from collections.abc import Sequence

from loadtop.analysis.totals.timeline import Held
from loadtop.diagnosis.finding import Finding
from loadtop.i18n import Message, duration, figure, plain, rendered, tr
from loadtop.model import LoadLevel
from loadtop.servers.registry import verdict_named

MOST_LEVELS = 6  # levels that are listed one by one


def limits_in_words(held: Sequence[Held]) -> list[Message]:
    """Each limit with the loads at which it held, the highest first, and the loads at which there was none. Empty if
    there is only one verdict under one load."""
    telling = [each for each in held if each.is_limit or each.level.unit]
    if len(telling) < 2:
        return []
    alike: dict[tuple[str, str | None, str], list[Held]] = {}
    for each in telling:
        alike.setdefault((each.finding.bottleneck, each.finding.host, each.level.unit), []).append(each)
    return [_in_words(group) for group in alike.values()]


def loads_in_words(levels: Sequence[LoadLevel]) -> str:
    """Levels of one unit: ``8 and 20 connections``, or the lowest and the highest of many. Empty where not known."""
    amounts = [figure(amount) for amount in sorted(level.amount for level in levels)]
    shown = amounts[-1]
    if len(amounts) > 1:
        shown = tr("{first} and {last}", first=", ".join(amounts[:-1]), last=amounts[-1])
    if len(amounts) > MOST_LEVELS:
        shown = tr("{start} to {end}", start=amounts[0], end=amounts[-1])
    match levels[0].unit:
        case "rate":
            return tr("{rate} requests/s", rate=shown)
        case "c":
            return tr("1 connection") if shown == "1" else tr("{c} connections", c=shown)
        case _:
            return ""


def at_load(held: Held) -> str:
    """The load under which a limit held, to follow its sentence; empty without a limit, and if unknown."""
    load = loads_in_words([held.level])
    return tr(" at {load}", load=load) if load and held.is_limit else ""


def on_host(host: str | None) -> str:
    """The host of a limit, to follow the limit's name or its sentence; empty without a host."""
    return tr(" on {host}", host=plain(host)) if host else ""


def sentence_of(found: Finding) -> str:
    """The limit, in a sentence without its host."""
    if found.subject is None:
        return tr(verdict_named(found.bottleneck).sentence)
    return tr("{subject} is the limit", subject=rendered(found.subject))


def subject_after(found: Finding) -> str:
    """The service or the lock that is the limit, to follow the verdict's name; empty for other verdicts."""
    return "" if found.subject is None else f" {rendered(found.subject)}"


def _in_words(group: Sequence[Held]) -> Message:
    """One limit, or none, under several loads of the same unit."""
    load = loads_in_words([each.level for each in group])
    if not group[0].is_limit:
        return Message("none at {load}", load=load)
    found, time = group[0].finding, duration(round(sum(each.seconds for each in group)))
    limit = tr(verdict_named(found.bottleneck).title) + subject_after(found) + on_host(found.host)
    if not load:
        return Message("{limit}, for {time}", limit=limit, time=time)
    return Message("{limit} at {load}, for {time}", limit=limit, load=load, time=time)
