"""What load to make: targets, steps and how to connect. Pure data; goes to the workers as JSON through a pipe, bodies
after it."""

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import loadtop
from loadtop.generator.target import Origin, PlanError, Target, basic_auth, check_header

__all__ = ["Origin", "Plan", "PlanError", "Proxy", "Step", "Target", "TlsOptions", "basic_auth", "check_header"]

MOST_CONNECTIONS = 200_000
"""More than one address can have ports for; a typing error, not a load."""
MOST_WORKERS = 1024
SHORTEST_TIMEOUT_S = 0.001
"""What event loops count in."""
LARGEST_BUFFER = (1 << 31) - 1
"""Bytes: setsockopt(2) takes an int."""


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of constant load: closed with ``concurrency`` alone, open with ``rate`` (requests per second).

    In the open model ``concurrency`` is the most connections at once (``None``: as many as it takes). The step ends
    after ``duration_s`` or ``requests``, whichever comes first; with neither it lasts until it is stopped. ``targets``
    are indexes into the plan's targets; ``None`` means all of them.
    """

    concurrency: int | None = None
    rate: float | None = None
    duration_s: float | None = None
    requests: int | None = None
    targets: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.concurrency is None and self.rate is None:
            raise PlanError("a step needs a number of connections or a rate: give -c or --rate")
        if self.concurrency is not None and not 1 <= self.concurrency <= MOST_CONNECTIONS:
            raise PlanError(f"{self.concurrency} connections are not possible: use 1 to {MOST_CONNECTIONS}")
        if self.rate is not None and not 0 < self.rate <= 1e7:
            raise PlanError(f"--rate {self.rate:g} is not possible: use a number of requests/s above 0")
        if self.duration_s is not None and not 0 < self.duration_s < float("inf"):
            raise PlanError(f"a time of {self.duration_s:g} s is not possible: use seconds above 0")
        if self.requests is not None and self.requests < 1:
            raise PlanError(f"-n {self.requests} is not possible: use 1 or more")
        if self.targets is not None and not self.targets:
            raise PlanError("a step without targets cannot run: name at least one")


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy: plain for http targets, by CONNECT for https. ``authorization`` is the whole header value."""

    host: str
    port: int
    authorization: str | None = None

    @property
    def origin(self) -> Origin:
        """What connections to it lead to."""
        return Origin("http", self.host, self.port)


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """How https is spoken. ``protocol`` is ab's name (``TLS1.2``, ``TLS1.3``, ``ALL``); ``certificate`` a PEM file with
    chain and key; ``sni`` sends the host name in the handshake."""

    protocol: str | None = None
    ciphers: str | None = None
    certificate: str | None = None
    sni: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole load. ``timeout_s`` is for one request, from its start (connecting included) to the last byte.

    ``any_length`` accepts bodies of differing length; ``keep_going`` goes on when nothing can be connected to any
    more. The first ``warmup_s`` seconds are left out of every counter. ``bind`` is a local address; ``socket_buffer``
    sets the send and receive buffers in bytes. ``more_workers`` adds worker processes
    while one is full and cores are free. ``verbosity`` is ab's -v: from 2 on, requests and responses are told.
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
        if not SHORTEST_TIMEOUT_S <= self.timeout_s < float("inf"):
            raise PlanError(f"-s {self.timeout_s:g} is not possible: use {SHORTEST_TIMEOUT_S:g} seconds or more")
        if not 0 <= self.warmup_s < float("inf"):
            raise PlanError(f"a warm-up of {self.warmup_s:g} s is not possible: use 0 or more seconds")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise PlanError(f"--workers {self.workers} is not possible: use 1 to {MOST_WORKERS}")
        if self.socket_buffer is not None and not 1 <= self.socket_buffer <= LARGEST_BUFFER:
            raise PlanError(f"-b {self.socket_buffer} is not possible: use 1 to {LARGEST_BUFFER} bytes")
        if self.verbosity < 0:
            raise PlanError(f"-v {self.verbosity} is not possible: use 2 for heads, 3 for the status of each response")
        for step in self.steps:
            if step.targets is not None and not all(0 <= index < len(self.targets) for index in step.targets):
                raise PlanError("a step names a target that the plan does not have: count from 0")

    @property
    def bodies(self) -> tuple[bytes, ...]:
        """The bodies of all targets, each once."""
        return tuple(dict.fromkeys(target.body for target in self.targets if target.body is not None))

    def to_json(self) -> str:
        """One line of JSON; a body as its place in :attr:`bodies`. It may hold secrets: it goes through pipes, never
        into arguments."""
        places = {body: place for place, body in enumerate(self.bodies)}
        data = asdict(self)
        for target in data["targets"]:
            if target["body"] is not None:
                target["body"] = places[target["body"]]
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, bodies: Sequence[bytes] = ()) -> Self:
        """The plan that :meth:`to_json` wrote, with its bodies. Raises :class:`PlanError` for anything else."""
        try:
            data: dict[str, Any] = json.loads(text)
            data["targets"] = tuple(_target(each, bodies) for each in data["targets"])
            data["steps"] = tuple(_step(each) for each in data["steps"])
            data["proxy"] = None if data.get("proxy") is None else Proxy(**data["proxy"])
            data["tls"] = TlsOptions(**data.get("tls", {}))
            return cls(**data)
        except PlanError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise PlanError(f"this is no plan of loadtop {loadtop.__version__} ({error}): make it again") from None


def _check_address(text: str) -> None:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        raise PlanError(f"-B {text} is no address: give one of this machine's own, such as 192.0.2.7") from None


def _target(data: dict[str, Any], bodies: Sequence[bytes]) -> Target:
    body = data.get("body")
    data["headers"] = tuple((str(name), str(value)) for name, value in data.get("headers", ()))
    data["body"] = None if body is None else bodies[body]
    return Target(**data)


def _step(data: dict[str, Any]) -> Step:
    targets = data.get("targets")
    data["targets"] = None if targets is None else tuple(targets)
    return Step(**data)
