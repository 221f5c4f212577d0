"""Everything known at one tick of the Monitor."""

from msgspec import Struct

from loadtop.i18n import Text, Translatable
from loadtop.model.load import LoadSample
from loadtop.model.machine import HostSample
from loadtop.model.profile import Profile

ROLES: tuple[Translatable, ...] = ("target", "generator", "target+generator", "other")


MAX_HOSTS = 50  # machines of one test: a report takes about 1 ms for each of them and each interval


class HostState(Struct, frozen=True):
    """A machine in one frame: its newest sample, and whether that is newer than the one before (``fresh``). ``role`` is
    one of :data:`ROLES`; ``problem`` says why there is no new sample, or is empty."""

    name: str
    role: str
    sample: HostSample | None
    fresh: bool
    problem: Text = ""

    @property
    def is_target(self) -> bool:
        return "target" in self.role

    @property
    def is_generator(self) -> bool:
        """Whether it generates load; it can be under test too."""
        return "generator" in self.role


class Frame(Struct, frozen=True):
    """Everything known at one tick. ``at`` is seconds since the session began, ``wall`` seconds since the epoch.
    ``profiles`` are those that were completed since the frame before."""

    number: int
    at: float
    wall: float
    load: LoadSample | None
    hosts: tuple[HostState, ...]
    marks: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = ()
