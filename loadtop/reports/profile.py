"""Where the CPU time of a host goes: as text, as rows of a table, and as a tree of calls."""

from collections.abc import Iterator, Sequence
from operator import itemgetter

from loadtop.i18n import plain, rendered, tr
from loadtop.model import PROFILE_S, Profile

LEVELS = 40  # of calls at most

Stacks = Sequence[tuple[Sequence[str], int]]


def heading(profile: Profile) -> str:
    text = "CPU time of {host} ({tool}, {seconds} s, {samples} samples)"
    host, tool = plain(profile.host), plain(profile.tool)
    return tr(text, host=host, tool=tool, seconds=PROFILE_S, samples=profile.samples)


def lines(profile: Profile) -> list[str]:
    """The functions that run most often; why there are none; the system calls that wait, where they are known."""
    if profile.problem:
        host, problem = plain(profile.host), rendered(profile.problem)
        return [tr("CPU time of {host}: no profile: {problem}", host=host, problem=problem)]
    found = [f"  {pct:5.1f} %  {plain(name)}" for name, pct in profile.hottest()]
    waits = ", ".join(f"{plain(name)} {pct:.0f} %" for name, pct in profile.waited())
    return [heading(profile), *found, *([f"  {tr('waiting in')} {waits}"] if waits else [])]


def rows(profiles: Sequence[Profile]) -> list[Sequence[str]]:
    """The function, its share of the samples, the host, the tool."""
    return [
        (name, f"{pct:.1f} %", profile.host, profile.tool) for profile in profiles for name, pct in profile.hottest()
    ]


def calls(profile: Profile, least: float) -> Iterator[tuple[int, str, int, int]]:
    """The tree of calls, callers first: the level, the function, the samples to the left of it, and those that it is
    in, down to a share of ``least``."""
    stacks = [(stack.split(";")[:LEVELS], count) for stack, count in profile.stacks]
    return _calls(stacks, 0, 0, max(1.0, least * profile.samples))


def _calls(stacks: Stacks, level: int, left: int, least: float) -> Iterator[tuple[int, str, int, int]]:
    found: dict[str, list[tuple[Sequence[str], int]]] = {}
    for each in stacks:
        if level < len(each[0]):
            found.setdefault(each[0][level], []).append(each)
    sizes = {function: sum(count for _, count in its) for function, its in found.items()}
    for function, samples in sorted(sizes.items(), key=itemgetter(1), reverse=True):
        if samples >= least:
            yield level, function, left, samples
            yield from _calls(found[function], level + 1, left, least)
        left += samples
