"""What the workers of a full pool wait for. More workers help, and so does shortening that."""

from loadtop.diagnosis.breakdown import TIMER, Part, breakdown
from loadtop.diagnosis.finding import Dependency
from loadtop.i18n import Message, Parameter
from loadtop.model import Role
from loadtop.rates.measured import Measured

MOST = 0.5  # of the time that a request holds a worker: what takes more than that is named; our own

_BEFORE = {
    Role.WEB: (Part.CONNECT, Part.ACCEPT_QUEUE, Part.PROXY_QUEUE),
    Role.APPLICATION: (Part.CONNECT, Part.ACCEPT_QUEUE, Part.PROXY_QUEUE, Part.WORKER_QUEUE),
}
"""Where a request is before it has a worker of a web server, or of an application pool."""

_WAITS = (Part.LOCK, Part.DEPENDENCY)


def longest_wait(measured: Measured, role: Role) -> Message | None:
    """The service, lock or pause for which requests wait longest in their worker; ``None`` if that is not most of the
    time there."""
    found = breakdown(measured)
    if found is None:
        return None
    shares = found.shares or ()
    held_ms = found.mean_ms - sum(each.ms or 0.0 for each in shares if each.part in _BEFORE[role])
    waits = [(each.ms, each) for each in shares if each.part in _WAITS and each.ms and each.name]
    ms, longest = max(waits, key=lambda wait: wait[0], default=(0.0, None))
    if longest is None or held_ms <= 0.0 or ms <= MOST * held_ms:
        return None
    what: Parameter = longest.name or ""
    if longest.part is Part.LOCK:
        template = (
            "On average, a request holds a worker for {held:.3g} ms, of which it waits {ms:.3g} ms for a file lock "
            "({what})."
        )
    elif longest.kind == TIMER:
        template = (
            "On average, a request holds a worker for {held:.3g} ms, of which it spends {ms:.3g} ms in pauses of the "
            "page (such as usleep or sleep)."
        )
    else:
        template = "On average, a request holds a worker for {held:.3g} ms, of which it waits {ms:.3g} ms for {what}."
        what = Dependency(longest.name or "", longest.kind, longest.service_host).in_words
    return Message(template, held=held_ms, what=what, ms=min(ms, held_ms))
