"""Counts pending requests on this machine's outgoing connections, by peer: those of TCP by its clocks, those of unix
sockets by their number (``unix_clocks.py``).

The kernel says of each connection how long ago data was last sent and last received (``tcpi_last_data_sent`` and
``tcpi_last_data_recv`` of ``struct tcp_info``, Linux, include/uapi/linux/tcp.h). Sent later than received: a question
is open there. A connection whose port is listened on here belongs to the server's end and asks nothing.

These clocks tick every 1 to 10 ms, and who asks a database several things in a row often receives an answer and sends
the next question within one tick. Then acknowledgements decide. An answer acknowledges its question; a question that
is not answered is not acknowledged at all, or without data, when the peer's acknowledgement is not delayed any longer.
Linux does not delay it on a new connection: then answer, question and acknowledgement share a tick, and the number of
segments decides (:class:`Lead`).

A client of MySQL that has closed a prepared statement looks as if it waited, since that has no answer. So questions
are counted once more without such messages (:class:`Unanswered`): only what reads the sums knows which service is at a
place.

A thread reads several times per second, because a mean over a few moments of a second says more than one moment. It
walks through the kernel's table, which takes some ms where a load leaves tens of thousands of connections in TIME_WAIT.
Connections that two walks have found, such as those of a pool, are also read one by one between walks; the next walk
counts each with the mean of these readings. Accept queues are read too. Each of the three rests 200 times as long as a
reading took, so that it takes at most 0.5 % of a core, unless one takes over 10 ms (thousands of connections).
"""

import contextlib
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from collectors.linux.peers import MOST_PEERS, Sums
from collectors.transport import sock_diag
from collectors.transport.unix_clocks import UnixClocks

LEAST_PAUSE_S, MOST_PAUSE_S, PAUSE_PER_COST = 0.08, 2.0, 200.0
PORTS_EVERY_S = 5.0  # between looks at which ports are listened on
MOST_CONNECTIONS = 20_000  # whose segments are remembered
MOST_STAYING = 256  # connections that are read between walks
ONE_WAY_SEGMENTS = 64  # sent without any answer: a connection that only reports, to a log for example
GREETED_WITHIN_MS = 10_000
"""Some services speak first (databases, SMTP): who has connected waits for them. One that stays silent for longer has
nothing to say, and the connection is one for later use; our own, as for unix sockets."""

UNDELAYED_SEGMENTS, MOST_ANSWERED = 16, 64
"""Linux acknowledges at most this many segments that it receives on a new connection without delay (TCP_MAX_QUICKACKS).
Beyond that many segments of answers, nothing is learned either: their sizes differ; our own."""

LEAST_PENDING, PENDING_PER_ANSWERED = 5, 20
"""A lead counts as that of a pending request once it was seen this often on one, and this many times as often as it was
or could be that of an answered one; our own."""

ACKNOWLEDGED_WITHIN_MS = 500
"""How late a peer may acknowledge a question: Linux delays that for 40 to 200 ms (TCP_DELACK_MIN and TCP_DELACK_MAX),
and the way takes time. Later acknowledgements are those of keep-alive probes, which begin after a second or more."""

UNANSWERED_BYTES = frozenset((9, 18))
"""COM_STMT_CLOSE, which MySQL does not answer: a header of 4 bytes, the command, a number of 4 bytes; once or twice.
Few requests to MySQL have one of these lengths, such as COM_STMT_RESET, or a statement of 4 or 13 characters."""

LEAST_BEFORE_UNANSWERED = 2
"""Segments that a client of MySQL has sent before it closes a statement: at least its login, and the statement."""

DELAY_MS = 40
"""Linux delays the acknowledgement of what has no answer for at least so long (TCP_DELACK_MIN)."""

PackedAddress = tuple[bytes, int]  # and port
Ends = tuple[PackedAddress, PackedAddress]  # the own and the other


@dataclass(slots=True)
class Lead:
    """How many more data segments than it has received the caller of one service has sent, on new connections: how
    often that was seen where the clocks showed a pending request, and where they showed an answer.

    With MySQL, which speaks first, a caller that waits has sent as many; with PostgreSQL, one more. TLS, and messages
    of several segments or without an answer, change that: so it is learned."""

    pending: Counter[int] = field(default_factory=Counter[int])
    answered: Counter[int] = field(default_factory=Counter[int])

    def is_pending(self, each: sock_diag.Connection) -> bool:
        """Whether a request is pending on a connection, also where only the lead tells."""
        is_new = 0 < each.segments_in <= MOST_ANSWERED and each.segments_out <= UNDELAYED_SEGMENTS
        lead = each.segments_out - each.segments_in
        if is_open(each):
            if is_new:
                self.pending[lead] += 1
            return True
        if not is_new or each.received_ms >= GREETED_WITHIN_MS:
            return False
        if each.sent_ms > each.received_ms:
            self.answered[lead] += 1
            return False
        seen, otherwise = self.pending[lead], self.answered[lead] + self.pending[lead + 1]  # answered by one segment
        unclear = each.sent_ms == each.received_ms == each.acknowledged_ms
        return unclear and seen >= LEAST_PENDING and seen >= PENDING_PER_ANSWERED * otherwise


@dataclass(slots=True)
class Unanswered:
    """How often it was known that a connection with a pending request had sent a request last, or a message without an
    answer; before and after the time for which acknowledgements are delayed."""

    seen: Counter[tuple[bool, bool]] = field(default_factory=Counter[tuple[bool, bool]])

    def share(self, each: sock_diag.Connection, known: bool | None) -> float:
        """How likely it is that what such a connection has sent last has no answer. That is ``known``, or shows in the
        number of bytes, if it was looked at before they were acknowledged; and whether it was does not depend on what
        they are. So of others the share is as among those of which it is known."""
        late = each.sent_ms >= DELAY_MS
        if known is not None:
            self.seen[late, known] += 1
            return 1.0 if known else 0.0
        unanswered, requests = self.seen[late, True], self.seen[late, False]
        return unanswered / (unanswered + requests) if unanswered >= LEAST_PENDING else 0.0


@dataclass(slots=True)
class TcpSums:
    """Adds up what is seen on connections in each reading."""

    readings: int = 0
    _asked: defaultdict[tuple[PackedAddress, int], Sums] = field(default_factory=lambda: defaultdict(Sums))
    _accepted: set[tuple[PackedAddress, int]] = field(default_factory=set[tuple[PackedAddress, int]])
    _queued: dict[int, int] = field(default_factory=dict[int, int])
    _queue_readings: int = 0
    _segments: dict[Ends, int] = field(default_factory=dict[Ends, int])
    _staying: list[sock_diag.Connection] = field(default_factory=list[sock_diag.Connection])
    _between: dict[Ends, Sums] = field(default_factory=dict[Ends, Sums])  # of each connection, since the last reading
    _leads: defaultdict[tuple[PackedAddress, int], Lead] = field(default_factory=lambda: defaultdict(Lead))
    _unanswered: defaultdict[tuple[PackedAddress, int], Unanswered] = field(
        default_factory=lambda: defaultdict(Unanswered)
    )
    _last: dict[Ends, tuple[int, bool]] = field(default_factory=dict[Ends, tuple[int, bool]])
    """The number of segments that a connection had sent, and whether what it had sent last has no answer."""

    def add_queues(self, queues: Mapping[int, int]) -> None:
        """Add a reading of accept queues, by port."""
        self._queue_readings += 1
        for port, waiting in queues.items():
            if port in self._queued or len(self._queued) < MOST_PEERS:
                self._queued[port] = self._queued.get(port, 0) + waiting

    def add(self, found: Sequence[sock_diag.Connection], accepted: set[tuple[PackedAddress, int]]) -> None:
        """Add a reading: the connections that were opened here, and where which users have accepted others."""
        self.readings += 1
        self._make_room(found)
        before, self._segments = self._segments, {}
        between, self._between = self._between, {}
        last, self._last = self._last, {}
        self._staying = []
        for each in found:
            ends = _ends(each)
            place = ends[1]
            if (place, each.user) not in self._asked and len(self._asked) >= MOST_PEERS:
                continue
            seen = between.get(ends) or Sums()
            if ends in last:
                self._last[ends] = last[ends]
            self._see(seen, each)
            asked = self._asked[place, each.user]
            asked.connections += 1
            asked.questions += seen.questions / seen.connections
            asked.age_ms += seen.age_ms / seen.connections
            asked.answered += seen.answered / seen.connections
            asked.answered_age_ms += seen.answered_age_ms / seen.connections
            asked.segments += max(0, each.segments_out - before.get(ends, 0))
            if ends in before:
                self._staying.append(each)
            if len(self._segments) < MOST_CONNECTIONS:
                self._segments[ends] = each.segments_out
        self._accepted.update(islice(accepted - self._accepted, max(0, MOST_PEERS - len(self._accepted))))

    def staying(self, tested: Collection[int]) -> Sequence[sock_diag.Connection]:
        """The connections that the last two readings found, without the load's own, to ``tested`` ports, unless there
        are no others."""
        others = [each for each in self._staying if each.remote_port not in tested]
        return (others or self._staying)[:MOST_STAYING]

    def add_between(self, found: Iterable[sock_diag.Connection | None]) -> None:
        """Add what connections that stay do now. Each counts in the next reading, with the mean of what was seen of it
        since the last."""
        for each in found:
            if each is not None:
                self._see(self._between.setdefault(_ends(each), Sums()), each)

    def _see(self, sums: Sums, each: sock_diag.Connection) -> None:
        sums.connections += 1
        key = (each.remote_address, each.remote_port), each.user
        if self._leads[key].is_pending(each):
            answered = 1.0 - self._unanswered[key].share(each, self._known(each))
            sums.questions += 1
            sums.age_ms += each.sent_ms
            sums.answered += answered
            sums.answered_age_ms += answered * each.sent_ms

    def _known(self, each: sock_diag.Connection) -> bool | None:
        """Whether what a connection with a pending request has sent last has no answer; ``None``: that is not known."""
        ends = _ends(each)
        if each.unacknowledged_bytes and len(self._last) < MOST_CONNECTIONS:
            closes = each.unacknowledged_bytes in UNANSWERED_BYTES and each.segments_out > LEAST_BEFORE_UNANSWERED
            self._last[ends] = each.segments_out, closes
        segments_out, unanswered = self._last.get(ends, (-1, False))
        return unanswered if segments_out == each.segments_out else None

    def _make_room(self, found: Sequence[sock_diag.Connection]) -> None:
        """Forget places without a connection, if there are too many to follow."""
        if len(self._asked) < MOST_PEERS:
            return
        seen = {((each.remote_address, each.remote_port), each.user) for each in found}
        for key in self._asked.keys() - seen:
            del self._asked[key]
        for key in self._leads.keys() - self._asked.keys():
            del self._leads[key]
            self._unanswered.pop(key, None)

    def text(self) -> str:
        """The sums, in the format of :mod:`collectors.linux.peers`."""
        rows = [f"readings {self.readings}\n"]
        rows += [f"queues {self._queue_readings}\n"]
        rows += [f"= {port} {waited}\n" for port, waited in self._queued.items()]
        rows += [f"< {sock_diag.shown(*place)} {user}\n" for place, user in self._accepted]
        rows += [each.row(">", sock_diag.shown(*place), user) for (place, user), each in self._asked.items()]
        return "".join(rows)


@dataclass(slots=True)
class TcpClocks:
    """Reads the clocks of this machine; :meth:`text` may be called from another thread. Several times a second,
    ``beside`` is called."""

    beside: Callable[[], None] = lambda: None
    _sums: TcpSums = field(default_factory=TcpSums)
    _unix: UnixClocks | None = field(default_factory=UnixClocks)  # ``None``: the kernel does not tell
    _unix_rows: str = ""
    _staying: Sequence[sock_diag.Connection] = ()
    _served: frozenset[int] = frozenset()
    _ports_due: float = 0.0
    tested: Collection[int] = ()
    """The ports whose accept queues are read first."""

    _problem: OSError | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def text(self) -> str:
        """The sums, in the format of :mod:`collectors.linux.peers`. Starts the readings the first time. Raises
        ``OSError`` where the kernel has no sock_diag or does not permit it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="loadtop-clocks", daemon=True)
            self.read()
            self._thread.start()
        with self._lock:
            if self._problem is not None:
                raise self._problem
            return self._sums.text() + self._unix_rows

    def close(self) -> None:
        self._ended.set()

    def read(self) -> None:
        """Take one reading."""
        accepted: set[tuple[PackedAddress, int]] = set()

        def accept(address: bytes, port: int, user: int) -> None:
            accepted.add(((address, port), user))

        try:
            self._look_at_ports()
            found = list(sock_diag.connections(self._served, accept))
        except OSError as error:
            with self._lock:
                self._problem = error
            return
        unix = self._read_unix()
        with self._lock:
            self._problem = None
            self._sums.add(found, accepted)
            self._unix_rows = unix
        self._staying = self._sums.staying(self.tested)

    def _read_unix(self) -> str:
        if self._unix is None:
            return ""
        try:
            self._unix.read()
        except OSError:
            self._unix = None
            return ""
        return "".join(self._unix.rows())

    def _look_at_ports(self) -> None:
        if time.monotonic() >= self._ports_due:
            began = time.thread_time()
            self._served = sock_diag.listening_ports()
            pause_s = max(PORTS_EVERY_S, PAUSE_PER_COST * (time.thread_time() - began))
            self._ports_due = time.monotonic() + pause_s

    def _read_queues(self) -> None:
        with contextlib.suppress(OSError):
            queues = sock_diag.queues(self.tested)
            with self._lock:
                self._sums.add_queues(queues)

    def _read_staying(self) -> None:
        if self._staying:
            with contextlib.suppress(OSError):
                found = list(sock_diag.the_same(self._staying))
                with self._lock:
                    self._sums.add_between(found)

    def _run(self) -> None:
        due = dict.fromkeys((self._read_queues, self._read_staying, self.read), time.monotonic())
        while not self._ended.wait(LEAST_PAUSE_S * _varied()):
            self.beside()
            for read in due:
                now = time.monotonic()
                if now < due[read] or (read == self._read_staying and now >= due[self.read]):
                    continue  # the walk that is due reads them too
                began = time.thread_time()
                read()
                due[read] = time.monotonic() + _varied() * min(MOST_PAUSE_S, _rest_s(time.thread_time() - began))


def _rest_s(cost_s: float) -> float:
    return PAUSE_PER_COST * cost_s if PAUSE_PER_COST * cost_s > LEAST_PAUSE_S else 0.0


def _varied() -> float:
    """So that no rhythm is met."""
    return random.uniform(0.5, 1.5)  # noqa: S311


def _ends(each: sock_diag.Connection) -> Ends:
    return (each.address, each.port), (each.remote_address, each.remote_port)


def is_open(each: sock_diag.Connection) -> bool:
    """Whether a request, or a greeting, is pending. The first one may be sent in the very tick in which the connection
    was made, which is what both clocks show then."""
    if not each.segments_in and not each.segments_out:
        return each.sent_ms < GREETED_WITHIN_MS
    if not each.segments_in:
        return each.segments_out < ONE_WAY_SEGMENTS
    if each.unacknowledged or each.sent_ms < each.received_ms:
        return True
    return each.sent_ms == each.received_ms and 0 < each.received_ms - each.acknowledged_ms <= ACKNOWLEDGED_WITHIN_MS
