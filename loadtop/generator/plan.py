"""What load to make: targets, steps and how to connect. Pure data, sent to the workers as JSON."""

import ipaddress
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn, Self, TypeVar, cast

import loadtop
from loadtop.generator.target import Origin, PlanError, Target, basic_auth, check_header
from loadtop.i18n.message import Message

__all__ = ["Origin", "Plan", "PlanError", "Proxy", "Step", "Target", "TlsOptions", "basic_auth", "check_header"]

MAX_CONNECTIONS = 200_000
"""More than the ports of one address: a typing error, not a load."""
MAX_WORKERS = 1024
MAX_RATE = 1e7
MIN_TIMEOUT_S = 0.001
"""The precision of event loop timers."""
MAX_SOCKET_BUFFER = (1 << 31) - 1
"""Bytes: setsockopt(2) takes an int."""
UNLIMITED = 1 << 62
"""More requests than can be sent."""

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class Step:
    """A period of constant load: closed model with ``concurrency`` alone, open model with ``rate`` (requests/s).

    In the open model ``concurrency`` is the maximum number of connections (None: as many as are needed). The step ends
    after ``duration_s`` or ``requests``, whichever comes first, or runs until it is stopped if neither is set.
    ``targets`` are indexes into the plan's targets; None means all of them.
    """

    concurrency: int | None = None
    rate: float | None = None
    duration_s: float | None = None
    requests: int | None = None
    targets: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.concurrency is None and self.rate is None:
            raise PlanError("a step needs a number of connections or a rate: give -c or --rate")
        if self.concurrency is not None and not 1 <= self.concurrency <= MAX_CONNECTIONS:
            _refuse(Message("{n} connections", n=self.concurrency), Message("1 to {max}", max=MAX_CONNECTIONS))
        if self.rate is not None and not 0 < self.rate <= MAX_RATE:
            _refuse(_option("--rate", self.rate), Message("a number of requests/s above 0"))
        if self.duration_s is not None and not 0 < self.duration_s < float("inf"):
            _refuse(Message("a time of {s} s", s=f"{self.duration_s:g}"), Message("seconds above 0"))
        if self.requests is not None and self.requests < 1:
            _refuse(_option("-n", self.requests), Message("1 or more"))
        if self.targets is not None and not self.targets:
            raise PlanError("a step without targets cannot run: name at least one")


@dataclass(frozen=True, slots=True)
class Portion:
    """The part of a load that falls to worker number ``worker`` (from 0) of ``workers``."""

    worker: int = 0
    workers: int = 1

    def of(self, whole: int) -> int:
        """Return this worker's part of ``whole``; the parts of all workers add up to it."""
        before, after = self._bounds(whole)
        return after - before

    def _bounds(self, whole: int) -> tuple[int, int]:
        return whole * self.worker // self.workers, whole * (self.worker + 1) // self.workers

    def requests(self, step: Step) -> int:
        """Return this worker's part of the requests of ``step``, or :data:`UNLIMITED` if it has no number of requests.

        In the closed model the part is in proportion to the worker's part of the connections.
        """
        if step.requests is None:
            return UNLIMITED
        if step.rate is not None or step.concurrency is None:
            return self.of(step.requests)
        before, after = self._bounds(step.concurrency)
        return step.requests * after // step.concurrency - step.requests * before // step.concurrency


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy: plain for http targets, by CONNECT for https. ``authorization`` is the whole header value."""

    host: str
    port: int
    authorization: str | None = None

    @property
    def origin(self) -> Origin:
        return Origin("http", self.host, self.port)


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """TLS settings. ``protocol`` is ab's name (``TLS1.2``, ``TLS1.3``, ``ALL``); ``certificate`` is a PEM file with
    chain and key; ``sni`` sends the host name in the handshake."""

    protocol: str | None = None
    ciphers: str | None = None
    certificate: str | None = None
    sni: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole load. ``timeout_s`` is for one request, from its start (connecting included) to the last byte.

    ``any_length`` accepts bodies of differing length; ``keep_going`` goes on when the server cannot be reached any
    more. The first ``warmup_s`` seconds are left out of every counter. ``bind`` is a local address; ``socket_buffer``
    is the size of send and receive buffers in bytes. ``more_workers`` adds worker processes while one is busy and
    cores are idle. ``verbosity`` is ab's -v: from 2 on, requests and responses are printed.
    """

    targets: tuple[Target, ...]
    steps: tuple[Step, ...]
    keepalive: bool = False
    timeout_s: float = 30.0
    any_length: bool = False
    keep_going: bool = False
    verify_tls: bool = True
    warmup_s: float = 0.0
    workers: int = 1
    more_workers: bool = False
    user_agent: str = f"loadtop/{loadtop.__version__}"
    proxy: Proxy | None = None
    bind: str | None = None
    socket_buffer: int | None = None
    verbosity: int = 0
    tls: TlsOptions = field(default_factory=TlsOptions)

    def __post_init__(self) -> None:
        if self.bind is not None:
            _check_address(self.bind)
        if not self.targets:
            raise PlanError("there is nothing to request: give a URL")
        if not self.steps:
            raise PlanError("there is no load to make: give -n, -t or --steps")
        if not MIN_TIMEOUT_S <= self.timeout_s < float("inf"):
            _refuse(_option("-s", self.timeout_s), Message("{min} seconds or more", min=f"{MIN_TIMEOUT_S:g}"))
        if not 0 <= self.warmup_s < float("inf"):
            _refuse(Message("a warm-up of {s} s", s=f"{self.warmup_s:g}"), Message("0 or more seconds"))
        if not 1 <= self.workers <= MAX_WORKERS:
            _refuse(_option("--workers", self.workers), Message("1 to {max}", max=MAX_WORKERS))
        if self.socket_buffer is not None and not 1 <= self.socket_buffer <= MAX_SOCKET_BUFFER:
            _refuse(_option("-b", self.socket_buffer), Message("1 to {max} bytes", max=MAX_SOCKET_BUFFER))
        if self.verbosity < 0:
            _refuse(_option("-v", self.verbosity), Message("2 for heads, 3 for the status of each response"))
        for step in self.steps:
            if step.targets is not None and not all(0 <= index < len(self.targets) for index in step.targets):
                raise PlanError("a step names a target that the plan does not have: count from 0")

    @property
    def bodies(self) -> tuple[bytes, ...]:
        """The bodies of all targets, each once."""
        return tuple(dict.fromkeys(target.body for target in self.targets if target.body is not None))

    def to_json(self) -> str:
        """Return one line of JSON, with each body as its index in :attr:`bodies`. It may contain secrets: send it
        through pipes, never as an argument."""
        indexes = {body: index for index, body in enumerate(self.bodies)}
        return json.dumps(asdict(self), separators=(",", ":"), default=indexes.__getitem__)

    @classmethod
    def from_json(cls, text: str, bodies: Sequence[bytes] = ()) -> Self:
        """Return the plan that :meth:`to_json` wrote, with its bodies. Raises PlanError for anything else."""
        import msgspec

        try:
            data: dict[str, Any] = json.loads(text)
            for target in data["targets"]:
                if target["body"] is not None:
                    target["body"] = bodies[target["body"]]
            return msgspec.convert(data, cls, builtin_types=(bytes,))
        except (ValueError, TypeError, LookupError, msgspec.ValidationError) as error:
            raise PlanError(
                "this is not a plan of loadtop {version} ({reason}): make it again",
                version=loadtop.__version__,
                reason=str(error),
            ) from None


def total(parts: Iterable[_Number | None]) -> _Number | None:
    """Return the sum, or None if a part is None."""
    known = list(parts)
    return None if None in known else cast("_Number", sum(part for part in known if part is not None))


def _option(name: str, value: float) -> Message:
    number = str(value) if isinstance(value, int) else f"{value:g}"
    return Message("{option} {value}", option=name, value=number)


def _refuse(what: Message, instead: Message) -> NoReturn:
    raise PlanError("{what} is not possible: use {instead}", what=what, instead=instead)


def _check_address(text: str) -> None:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        raise PlanError("-B {text} is not an address: give one of this machine, such as 192.0.2.7", text=text) from None
