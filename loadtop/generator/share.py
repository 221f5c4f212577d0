"""How a load is shared out among worker processes."""

from loadtop.generator.plan import Step

ENDLESS = 1 << 62
"""More requests than can be sent."""


class Share:
    """Which part of the whole this worker has: number ``worker`` of ``workers``, from 0."""

    def __init__(self, worker: int = 0, workers: int = 1) -> None:
        self.worker = worker
        self.workers = workers

    def of(self, whole: int) -> int:
        """This worker's part of ``whole``; the parts add up."""
        return self.before(whole, self.worker + 1) - self.before(whole, self.worker)

    def before(self, whole: int, worker: int) -> int:
        """The parts of all workers with a lower number."""
        return whole * worker // self.workers

    def in_proportion(self, whole: int, parts: int) -> int:
        """The part of ``whole`` that goes with this worker's part of ``parts``."""
        before, after = self.before(parts, self.worker), self.before(parts, self.worker + 1)
        return whole * after // parts - whole * before // parts

    def requests(self, step: Step) -> int:
        """This worker's part of the requests of ``step``; :data:`ENDLESS` where something else ends it."""
        if step.requests is None:
            return ENDLESS
        if step.rate is not None or step.concurrency is None:
            return self.of(step.requests)
        return self.in_proportion(step.requests, step.concurrency)
