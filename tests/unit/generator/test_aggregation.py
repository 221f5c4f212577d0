"""When a step of several workers ends, and what is added up of each until then."""

from loadtop.generator.aggregation import Aggregator, Report, WorkerProgress
from loadtop.generator.plan import Plan, Step, Target
from loadtop.i18n import verbatim
from loadtop.model import Failures, GeneratorSample, Latencies, LoadSample, LoadState
from loadtop.model.histogram import distribution
from tests.unit.known import known

PLAN = Plan((Target.parse("http://server/"),), (Step(concurrency=2),) * 4)


class Worker(WorkerProgress):
    """A worker that reports what it is given, with one latency each time."""

    def say(self, step: int, requests: int, state: LoadState = LoadState.RUNNING, delay_s: float = 0.0) -> None:
        load = LoadSample(
            at=0.0,
            engine="builtin",
            state=state,
            model="closed",
            elapsed_s=0.0,
            step=step,
            concurrency=1,
            in_flight=1,
            connections=1,
            requests=requests,
            failures=Failures(),
            latencies=Latencies(distribution([1])),
        )
        self.add(Report(load, GeneratorSample((0.0,), delay_s, files_used=3, files_limit=100)))

    def end(self) -> None:
        self.problem = verbatim("ended")


def take(steps: Aggregator, *workers: Worker) -> tuple[int, int | None, int, bool]:
    """Step, requests and latencies of the whole, as a sample has them; and whether there is more."""
    sample = steps.sample(workers)
    latencies = 0 if sample.latencies is None else sample.latencies.total.count
    return sample.step, sample.requests, latencies, sample.more


def test_a_step_is_over_when_the_last_worker_has_left_it() -> None:
    steps, one, two = Aggregator(PLAN), Worker(), Worker()
    assert take(steps, one, two) == (1, 0, 0, False)
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
    steps, one = Aggregator(PLAN), Worker()
    for step, requests in ((1, 5), (2, 5), (2, 9)):
        one.say(step, requests)
    one.say(3, 9, LoadState.DONE)
    assert take(steps, one) == (1, 5, 1, True)
    assert take(steps, one) == (2, 9, 2, True)
    assert take(steps, one) == (3, 9, 1, False)


def test_one_that_joins_late_or_leaves_a_step_out_loses_nothing() -> None:
    steps, one, late = Aggregator(PLAN), Worker(), Worker()
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


def test_the_load_goes_on_while_a_worker_joins_that_has_taken_requests() -> None:
    steps, one = Aggregator(PLAN), Worker()
    one.say(1, 5, LoadState.DONE)
    assert steps.sample([one], joining=True).state is LoadState.RUNNING
    assert steps.sample([one]).state is LoadState.DONE


def test_what_ends_in_different_steps_is_added_up_as_it_stands() -> None:
    steps, one, two = Aggregator(PLAN), Worker(), Worker()
    one.say(1, 5)
    one.say(2, 7)
    two.say(1, 4)
    for worker in (one, two):
        worker.end()
    assert take(steps, one, two) == (2, 11, 3, False)


def test_a_delay_of_the_event_loop_is_reported_once() -> None:
    steps, one = Aggregator(PLAN), Worker()
    one.say(1, 5, delay_s=0.5)
    one.say(1, 6, delay_s=0.1)
    for delay_s in (0.5, 0.0):
        generator = known(steps.sample([one]).generator)
        assert generator.loop_delay_s == delay_s


def test_latencies_wait_for_the_end_of_all_warm_ups() -> None:
    steps, one, two = Aggregator(PLAN), Worker(), Worker()
    one.say(1, 5)
    two.say(1, 5, LoadState.WARMUP)
    assert take(steps, one, two)[2] == 0
    two.say(1, 1)
    assert take(steps, one, two)[2] == 3
