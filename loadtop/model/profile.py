"""Where the CPU time of a machine goes: call stacks that a profiler sampled."""

from collections import Counter

from msgspec import Struct

from loadtop.i18n import Text

PROFILE_S = 5  # seconds for which stacks are sampled
HOTTEST = 5  # functions that are listed


class Profile(Struct, frozen=True):
    """Samples of one machine over :data:`PROFILE_S` seconds.

    ``tool`` took them: ``perf``, ``py-spy``, ``phpspy``, or ``/proc``. ``stacks`` are folded: a process and its
    functions, callers first, separated by ``;``, and the number of samples; the most frequent come first. Without a
    profiler they are the process, its pid, ``user`` or ``system``, and clock ticks; ``calls`` are then processes and
    the system calls in which they waited. ``problem`` says why there are no samples.
    """

    host: str
    tool: str = ""
    stacks: tuple[tuple[str, int], ...] = ()
    calls: tuple[tuple[str, int], ...] = ()
    problem: Text = ""

    @property
    def samples(self) -> int:
        return sum(count for _, count in self.stacks)

    def hottest(self) -> list[tuple[str, float]]:
        """The functions that ran most often, each with its process, and the percent of the samples in which it did."""
        return _most_frequent(self.stacks)

    def waited(self) -> list[tuple[str, float]]:
        """The same for system calls and the samples of processes that waited."""
        return _most_frequent(self.calls)


def _most_frequent(stacks: tuple[tuple[str, int], ...]) -> list[tuple[str, float]]:
    found: Counter[str] = Counter()
    for stack, count in stacks:
        process, *functions = stack.split(";")
        found[f"{functions[-1]} ({process})" if functions else process] += count
    total = max(1, found.total())
    return [(name, 100.0 * count / total) for name, count in found.most_common(HOTTEST)]
