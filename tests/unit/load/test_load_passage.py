"""When a step of several workers is over, and what is added up of each until then."""

from dataclasses import dataclass, field, fields

from loadtop.generator.passage import Heard, Passage, StepEnd, StepEnds
from loadtop.generator.report import Report
from loadtop.model import Latencies
from loadtop.model.histogram import EMPTY


def told(step: int, requests: int) -> Report:
    numbers = {each.name: 0 for each in fields(Report) if each.name not in ("latencies", "server", "said")}
    return Report(**(numbers | {"state": "running", "message": "", "step": step, "requests": requests}))  # type: ignore[arg-type]


@dataclass
class Worker:
    """A worker that says what it is told to say, with one latency each time."""

    report: Report | None = None
    latencies: list[Latencies] = field(default_factory=list[Latencies])
    loop_delay_s: float = 0.0
    problem: str = ""
    ended: bool = False
    failed: bool = False
    ends: StepEnds = field(default_factory=StepEnds)

    def say(self, step: int, requests: int) -> None:
        if self.report is not None and 0 < self.report.step < step:
            self.ends.note(StepEnd(self.report, self.latencies), self.report.step)
            self.latencies = []
        self.report = told(step, requests)
        self.latencies.append(Latencies(EMPTY))


def take(passage: Passage, *workers: Worker) -> tuple[int, int, int, bool]:
    """Step, requests and latencies of the whole, as a sample takes them; and whether there is more."""
    parts, more = passage.parts(workers)
    reports = [part.report for part in parts if part.report is not None]
    counted = sum(_taken(part) for part in parts)
    return max((r.step for r in reports), default=0), sum(r.requests for r in reports), counted, more


def _taken(part: Heard) -> int:
    number = len(part.latencies)
    part.latencies.clear()
    return number


def test_a_step_is_over_when_the_last_worker_has_left_it() -> None:
    passage, one, two = Passage(), Worker(), Worker()
    assert take(passage, one, two) == (0, 0, 0, False)
    one.say(1, 10)
    two.say(1, 10)
    assert take(passage, one, two) == (1, 20, 2, False)
    one.say(1, 12)
    one.say(2, 15)
    assert take(passage, one, two) == (1, 22, 1, False), "one is ahead: its first step counts"
    two.say(1, 11)
    two.say(2, 14)
    assert take(passage, one, two) == (1, 23, 1, False)
    assert take(passage, one, two) == (2, 29, 2, False)


def test_of_several_steps_each_has_its_end_and_says_that_more_follows() -> None:
    passage, one = Passage(), Worker()
    for step, requests in ((1, 5), (2, 5), (2, 9), (3, 9)):
        one.say(step, requests)
    one.ended = True
    assert take(passage, one) == (1, 5, 1, True)
    assert take(passage, one) == (2, 9, 2, True)
    assert take(passage, one) == (3, 9, 1, False)


def test_one_that_joins_late_or_leaves_a_step_out_loses_nothing() -> None:
    passage, one, late = Passage(), Worker(), Worker()
    one.say(1, 5)
    one.say(2, 6)
    late.say(2, 1)
    assert take(passage, one, late) == (1, 5, 1, False)
    one.say(4, 8)
    late.say(3, 2)
    late.say(4, 3)
    assert take(passage, one, late) == (2, 7, 2, True)
    assert take(passage, one, late) == (3, 8, 1, False), "it never was in step 3: it stands where it left step 2"
    assert take(passage, one, late) == (4, 11, 2, False)


def test_what_ends_in_different_steps_is_added_up_as_it_stands() -> None:
    passage, one, two = Passage(), Worker(), Worker()
    one.say(1, 5)
    one.say(2, 7)
    two.say(1, 4)
    one.ended = two.ended = True
    assert take(passage, one, two) == (2, 11, 3, False)
