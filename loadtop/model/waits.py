"""What a server's processes wait for: services they ask over TCP, and file locks."""

from msgspec import Struct


class Peer(Struct, frozen=True):
    """Connections of the processes under test to one other service; counters are sums over :attr:`Peers.readings`.

    ``kind`` names the service where it is recognised (``http``, ``ldap``, ...). ``depth`` is 1 where the processes at
    the tested port ask, 2 where those ask that are asked by these. ``connections`` and ``questions`` count connections,
    and those on which data was sent later than received: a request is pending. A connection that was also looked at
    between two readings counts with the mean. ``age_ms`` sums up how long ago each of
    these was sent, ``segments`` the data segments that were sent (a question usually is one). ``watched``: the
    processes that answer are under test themselves, as a service of no known kind. ``by_connection``: at a unix socket,
    whose address is its path. The kernel has no clocks there: a connection counts as a question from its beginning to
    its end, unless it stays for long, and as a segment.
    """

    address: str
    kind: str | None
    depth: int
    connections: int
    questions: float
    age_ms: float
    segments: int
    watched: bool = False
    by_connection: bool = False


class Queued(Struct, frozen=True):
    """The connections that waited in the accept queue of a port, added up over :attr:`Peers.queue_readings`."""

    port: int
    connections: int


class Peers(Struct, frozen=True):
    """``readings`` counts how often the connections have been looked at since the watch began. In ``queued``,
    ports at which no connection has waited are missing; ``queue_readings`` counts how often accept queues were."""

    readings: int
    peers: tuple[Peer, ...] = ()
    queued: tuple[Queued, ...] = ()
    queue_readings: int = 0


class FileLock(Struct, frozen=True):
    """A file lock for which processes under test wait. ``kind`` is ``flock``, ``posix`` or ``ofd``, ``device`` is
    ``MAJOR:MINOR`` in hexadecimal as in /proc/locks, ``waiting`` the number of processes under test that wait for it.
    ``path`` is ``None`` where it cannot be read, ``holder`` is the holder's name, empty where it is not known."""

    kind: str
    device: str
    inode: int
    holder_pid: int
    holder: str
    waiting: int
    path: str | None = None
