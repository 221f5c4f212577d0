"""A load whose every change of concurrency is a step of its own."""

from dataclasses import replace

from loadtop.model import LoadSample
from loadtop.pipeline.commands import Command
from loadtop.pipeline.monitor import LoadSource


class SteppedLoad:
    """A :class:`loadtop.pipeline.monitor.LoadSource` that passes another one on and counts its changes as steps.

    The end of a sweep is not known beforehand, so its samples promise none.
    """

    def __init__(self, load: LoadSource) -> None:
        self._load = load
        self._step = 1
        self._concurrency: int | None = None

    async def start(self) -> None:
        """Begin."""
        await self._load.start()

    async def wait(self) -> None:
        """Return when the load has ended."""
        await self._load.wait()

    def take(self) -> LoadSample | None:
        """The newest sample, with the number of its step."""
        sample = self._load.take()
        if sample is None:
            return None
        if self._concurrency is not None and sample.concurrency != self._concurrency and not sample.state.ended:
            self._step += 1
        self._concurrency = sample.concurrency
        return replace(sample, step=self._step, steps=self._step, target_s=None, target_requests=None)

    def command(self, command: Command) -> None:
        """Pass it on."""
        self._load.command(command)

    async def close(self) -> None:
        """Stop the load."""
        await self._load.close()
