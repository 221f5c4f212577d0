"""What a diagnosis says: findings with their evidence, and the one that is the limit."""

from msgspec import Struct

from loadtop.i18n import Message, Translatable, verbatim
from loadtop.model import FileLock

NONE = "none"  # the name of the verdict that there is headroom
SURE = 0.5  # confidence from which a verdict is stated; below it people read "probably"


class Evidence(Struct, frozen=True):
    """One measured value, and its threshold from a published ``source``; ``below``: it counts below that, not above."""

    metric: str
    host: str
    value: float
    threshold: float
    unit: str
    source: str
    below: bool = False


class Dependency(Struct, frozen=True):
    """A service that is asked: its address, what it is (``http``, ``ldap``, ...) where that is recognised, and the
    other watched machine that has this address."""

    address: str
    kind: str | None
    host: str | None = None

    @property
    def place(self) -> Message:
        """``db1 (10.0.0.5:389)``."""
        if self.host is None:
            return verbatim(self.address)
        return Message("{host} ({address})", host=self.host, address=self.address)

    @property
    def in_words(self) -> Message:
        """``ldap at db1 (10.0.0.5:389)``."""
        return self.place if self.kind is None else Message("{kind} at {address}", kind=self.kind, address=self.place)


LOCK_KINDS: dict[str, Translatable] = {"flock": "flock", "posix": "fcntl lock", "ofd": "OFD lock"}


def lock_in_words(lock: FileLock) -> Message:
    """``flock on /var/lib/php/sessions/sess_1``; with device and inode where the path is not known."""
    return Message("{lock} on {file}", lock=Message(LOCK_KINDS.get(lock.kind, "file lock")), file=file_in_words(lock))


def file_in_words(lock: FileLock) -> Message:
    """The path of a locked file, or its device and inode."""
    if lock.path is not None:
        return verbatim(lock.path)
    return Message("device {device} inode {inode:d}", device=lock.device, inode=lock.inode)


class Finding(Struct, frozen=True):
    """A resource that is full: where, since when (``since_s`` on the session's axis), how long (``held_s``), and why.
    ``bottleneck`` is the name of the verdict, ``symptoms`` what this one explains, ``confidence`` between 0 and 1.
    ``lingers``: the resource is below its lower threshold now, not yet for long enough to drop the finding.
    ``dependency`` and ``lock`` are what the verdicts of these names mean."""

    bottleneck: str
    host: str | None
    since_s: float
    held_s: float
    confidence: float
    evidence: tuple[Evidence, ...]
    advice: Message
    symptoms: tuple["Finding", ...] = ()
    lingers: bool = False
    dependency: Dependency | None = None
    lock: FileLock | None = None

    @property
    def subject(self) -> Message | None:
        """What exactly is the limit: the service that is asked, or the lock. ``None`` where the verdict says it all."""
        if self.dependency is not None:
            return self.dependency.in_words
        return None if self.lock is None else lock_in_words(self.lock)


class Forecast(Struct, frozen=True):
    """What would be full first, and at about how many requests/s (``low`` to ``high``)."""

    resource: str
    host: str | None
    rps: float
    low: float
    high: float


class Diagnosis(Struct, frozen=True):
    """The verdict (a finding, perhaps ``none``) and every finding that holds now, causes first; with the verdict
    ``none`` perhaps a forecast, which is in no recording."""

    verdict: Finding
    findings: tuple[Finding, ...]
    forecast: Forecast | None = None
