"""A file lock that the server's workers wait for, by the processes that /proc/locks lists as waiting."""

from loadtop.diagnosis.finding import file_in_words
from loadtop.diagnosis.response_times import at_work
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement
from loadtop.i18n import Message, sentences
from loadtop.model import FileLock, Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import HostRates

MOST_PCT, MOST_CLEAR_PCT = 50.0, 25.0  # percent of the requests in progress that wait for one lock; our own
LEAST_WAITING = 2  # processes that are a queue; our own

_SESSION = "sess_"  # prefix of PHP's session files (session.save_handler = files)


def _assess(measured: Measured, host: HostView) -> Assessment | None:
    """Idle workers may wait for a lock of fcntl(2) as well: those of Apache do, where its Mutex is a file. While no
    more processes wait than workers are idle, these may be all."""
    load, sample, rates = measured.load, host.sample, host.rates
    if load is None or load.state.ended or rates is None or sample is None or sample.locks is None:
        return None
    working = at_work(measured, load)
    if not working:
        return None
    idle = sum(getattr(each, "idle", None) or 0 for each in measured.readings(host, Role.WEB, Role.APPLICATION))
    locks = [each for each in sample.locks if each.kind != "posix" or each.waiting > idle]
    lock = max(locks, key=lambda each: each.waiting, default=None)
    waiting = 0 if lock is None else lock.waiting
    share = 100.0 * min(1.0, waiting / working)
    return Assessment(
        over=share > MOST_PCT and waiting >= LEAST_WAITING,
        held=share > MOST_CLEAR_PCT,
        evidence=(Row("lock.waiting_pct", share, MOST_PCT, "%", "/proc/locks: waiting / requests in progress"),),
        advice=lambda: Message("") if lock is None else _advice(lock, waiting, working, _holder(lock, rates)),
        confidence=agreement(),
        lock=lock,
    )


def _holder(lock: FileLock, rates: HostRates) -> Message:
    """Who holds the lock, and how much it computes."""
    name = lock.holder or Message("a process")
    cpu = next((each.cpu for each in rates.processes or () if each.process.pid == lock.holder_pid), None)
    if cpu is None:
        return Message("{name} (pid {pid:d})", name=name, pid=lock.holder_pid)
    return Message("{name} (pid {pid:d}, {cpu:.0f} % of a core)", name=name, pid=lock.holder_pid, cpu=cpu)


def _advice(lock: FileLock, waiting: int, working: int, holder: Message) -> Message:
    waits = Message(
        "{waiting} of {working} requests in progress wait for a file lock ({kind}) on {file}, held by {holder}.",
        waiting=waiting,
        working=working,
        kind=lock.kind,
        file=file_in_words(lock),
        holder=holder,
    )
    name = (lock.path or "").rpartition("/")[2]
    session = "Call session_write_close() as soon as the script has changed the session, or use another session store."
    if name.startswith(_SESSION):
        return sentences(Message(session), waits)
    release = Message("Release the lock earlier or lock less often.")
    if lock.path is None and lock.kind == "flock" and "php" in lock.holder:
        may_be = "If this is a PHP session file, call session_write_close() earlier or use another session store."
        return sentences(release, Message(may_be), waits)
    return sentences(release, waits)


LOCK = Verdict(
    name="lock",
    letter="K",
    title="file lock",
    sentence="A file lock is the limit",
    headline="is the limit",
    family=Family.POOL,
    explains=("dependency",),
    role=Role.DATABASE,
    of_host=_assess,
    titles={"lock.waiting_pct": "requests waiting"},
)
