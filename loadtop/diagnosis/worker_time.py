"""What the workers of a full pool wait for. More workers help, and so does shortening that."""

from loadtop.diagnosis.breakdown import TIMER, Part, breakdown
from loadtop.diagnosis.finding import Dependency
from loadtop.i18n import Message, Parameter
from loadtop.rates.measured import Measured

MOST = 0.5  # of the time that a request holds a worker: what takes more than that is named; our own

_BEFORE = (Part.CONNECT, Part.ACCEPT_QUEUE, Part.PROXY_QUEUE, Part.WORKER_QUEUE)
_WAITS = (Part.LOCK, Part.DEPENDENCY)


def longest_wait(measured: Measured) -> Message | None:
    """The service, lock or pause for which a request waits longest in its worker; ``None`` if that is not most of the
    time there."""
    found = breakdown(measured)
    if found is None:
        return None
    shares = found.shares or ()
    held_ms = found.mean_ms - sum(each.ms or 0.0 for each in shares if each.part in _BEFORE)
    waits = [(each.ms, each) for each in shares if each.part in _WAITS and each.ms and each.name]
    ms, longest = max(waits, key=lambda wait: wait[0], default=(0.0, None))
    if longest is None or held_ms <= 0.0 or ms <= MOST * held_ms:
        return None
    what: Parameter = longest.name or ""
    if longest.part is Part.LOCK:
        template = (
            "Each request holds a worker for {held:.3g} ms, and waits for a file lock ({what}) for {ms:.3g} ms of that."
        )
    elif longest.kind == TIMER:
        template = (
            "Each request holds a worker for {held:.3g} ms, and pauses, as by usleep or sleep, for {ms:.3g} ms of that."
        )
    else:
        template = "Each request holds a worker for {held:.3g} ms, and waits for {what} for {ms:.3g} ms of that."
        what = Dependency(longest.name or "", longest.kind, longest.service_host).in_words
    return Message(template, held=held_ms, what=what, ms=min(ms, held_ms))
