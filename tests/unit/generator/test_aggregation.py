"""When a step of several workers ends, and what is added up of each until then."""

from loadtop.generator.aggregation import StepSequence, WorkerProgress
from loadtop.generator.measurements import Counters
from loadtop.generator.protocol import Report
from loadtop.i18n import verbatim
from loadtop.model import Latencies, LoadState
from loadtop.model.histogram import EMPTY


class Worker(WorkerProgress):
    """A worker that reports what it is given, with one latency each time."""

    def say(self, step: int, requests: int, state: LoadState = LoadState.RUNNING) -> None:
        self.add(
            Report(
                at=0.0,
                state=state,
                message=None,
                elapsed_s=0.0,
                step=step,
                waits_after=0,
                concurrency=0,
                rate=None,
                in_flight=0,
                connections=0,
                counters=Counters(requests=requests),
                cpu_s=0.0,
                loop_delay_s=0.0,
                files_used=0,
                files_limit=0,
                ports_used=None,
                ports_limit=None,
                latencies=Latencies(EMPTY),
            )
        )

    def end(self) -> None:
        self.current.problem = verbatim("ended")


def take(steps: StepSequence, *workers: Worker) -> tuple[int, int, int, bool]:
    """Step, requests and latencies of the whole, as a sample takes them; and whether there is more."""
    statuses, more = steps.take(workers)
    reports = [status.report for status in statuses if status.report is not None]
    latencies = sum(len(status.latencies) for status in statuses)
    for status in statuses:
        status.latencies.clear()
    return max((r.step for r in reports), default=0), sum(r.counters.requests for r in reports), latencies, more


def test_a_step_is_over_when_the_last_worker_has_left_it() -> None:
    steps, one, two = StepSequence(), Worker(), Worker()
    assert take(steps, one, two) == (0, 0, 0, False)
    one.say(1, 10)
    two.say(1, 10)
    assert take(steps, one, two) == (1, 20, 2, False)
    one.say(1, 12)
    one.say(2, 15)
    assert take(steps, one, two) == (1, 22, 1, False), "one is ahead: its first step counts"
    two.say(1, 11)
    two.say(2, 14)
    assert take(steps, one, two) == (1, 23, 1, False)
    assert take(steps, one, two) == (2, 29, 2, False)


def test_of_several_steps_each_has_its_end_and_says_that_more_follows() -> None:
    steps, one = StepSequence(), Worker()
    for step, requests in ((1, 5), (2, 5), (2, 9)):
        one.say(step, requests)
    one.say(3, 9, LoadState.DONE)
    assert take(steps, one) == (1, 5, 1, True)
    assert take(steps, one) == (2, 9, 2, True)
    assert take(steps, one) == (3, 9, 1, False)


def test_one_that_joins_late_or_leaves_a_step_out_loses_nothing() -> None:
    steps, one, late = StepSequence(), Worker(), Worker()
    one.say(1, 5)
    one.say(2, 6)
    late.say(2, 1)
    assert take(steps, one, late) == (1, 5, 1, False)
    one.say(4, 8)
    late.say(3, 2)
    late.say(4, 3)
    assert take(steps, one, late) == (2, 7, 2, True)
    assert take(steps, one, late) == (3, 8, 1, False), "it never was in step 3: it stands where it left step 2"
    assert take(steps, one, late) == (4, 11, 2, False)


def test_what_ends_in_different_steps_is_added_up_as_it_stands() -> None:
    steps, one, two = StepSequence(), Worker(), Worker()
    one.say(1, 5)
    one.say(2, 7)
    two.say(1, 4)
    for worker in (one, two):
        worker.end()
    assert take(steps, one, two) == (2, 11, 3, False)
