"""A case of the lab: a server with a limit, the proof that it is the limit, and what loadtop must say."""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from tests.lab.counters import Change, Counters, Repeatedly
from tests.lab.keeping import SUFFIX
from tests.lab.load import Run, served_by_ab, watch_load
from tests.lab.table import Report, Result
from tests.servers.apache import ApacheFactory
from tests.servers.haproxy import HaproxyFactory
from tests.servers.mysql import MysqlFactory
from tests.servers.nginx import NginxFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.postgresql import PostgresqlFactory
from tests.servers.redis import RedisFactory
from tests.servers.service import ServiceFactory
from tests.servers.sshd import SshdFactory, put_ssh
from tests.servers.wsgi import GunicornFactory, UwsgiFactory

PROOF_S, RUN_S = 3, 8
WITHIN_S = 4.5
"""When a verdict must be named: three intervals, and the half second that a line may be late."""

KEEP = os.environ.get("LOADTOP_LAB_KEEP")
"""A directory for the recordings of the lab, where they are wanted."""


class Bench:
    """Starts the servers of one stand, which all end with it."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.stack = stack
        self.fpm = FpmFactory(stack)
        self.apache = ApacheFactory(stack, self.fpm)
        self.haproxy = HaproxyFactory(stack)
        self.nginx = NginxFactory(stack)
        self.service = ServiceFactory(stack)
        self.mysql = MysqlFactory(stack)
        self.postgresql = PostgresqlFactory(stack)
        self.redis = RedisFactory(stack)
        self.gunicorn = GunicornFactory(stack)
        self.uwsgi = UwsgiFactory(stack)
        self.sshd = SshdFactory(stack)


class Stand(Struct, frozen=True):
    """A server that can be loaded. ``watch`` are loadtop's options for it, ``launcher`` goes before either generator.

    ``sign`` reads, without loadtop, what the limit fills: a queue, a counter. ``service`` is the address of the service
    that the verdict must name, if any; ``locked`` the file whose lock it must name, if that is known.
    """

    url: str
    watch: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    sign: Callable[[], float] | None = None
    service: str | None = None
    locked: Path | None = None


Build = Callable[[Bench, bool], Stand]
"""Starts a stand: with its limit, or with the limit lifted."""


AS_NOBODY = 'ForceCommand exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "$SSH_ORIGINAL_COMMAND"'


def over_ssh(build: Build) -> Build:
    """The same stand, watched over SSH as an ordinary user who does not own the servers."""

    def seen(bench: Bench, lifted: bool) -> Stand:
        stand = build(bench, lifted)
        server = bench.sshd(extra=AS_NOBODY)
        path = put_ssh(server.directory, server.config)["PATH"]
        watch = ("--host", f"web=ssh://{server.alias}")
        return replace(stand, watch=watch, launcher=("env", f"PATH={path}", *stand.launcher))

    return seen


class Sign(Repeatedly):
    """A stand's sign: what it was before a load, and the most while it ran."""

    def __init__(self, sign: Callable[[], float] | None) -> None:
        super().__init__()
        self._sign = sign or (lambda: 0.0)
        self.before = self.peak = self._sign()

    def read(self) -> None:
        self.peak = max(self.peak, self._sign())


class Proof(Struct, frozen=True):
    """What was seen without loadtop: the kernel's counters while ab ran, the sign before it and the most it was during
    it, and requests per second."""

    change: Change
    before: float
    peak: float
    rps: float


class Case(Struct, frozen=True, kw_only=True):
    """``build(bench, lifted)`` starts the stand, with its limit or without; ``proven`` judges what ab's run showed.

    ``gain``: how many times faster the same load is served without the limit (``None`` for a trap: there is no limit to
    lift). ``advice`` are parts of what loadtop must say, with ``...`` between them, ``evidence`` the beginning of a
    metric that must be in it.
    ``proof_s``: ab sends its first request alone, so that slow pages need longer to be counted.
    """

    name: str
    expected: str
    build: Build
    concurrency: int
    proven: Callable[[Proof], bool]
    evidence: str = ""
    gain: float | None = 1.3
    options: tuple[str, ...] = ()
    advice: str = ""
    codes: Sequence[int] = (0,)
    quick: bool = False
    at_once: bool = False
    proof_s: int = PROOF_S
    within_s: float = WITHIN_S

    @property
    def load(self) -> tuple[str, ...]:
        return self.options or ("-c", str(self.concurrency), "-t", str(RUN_S))


def marked(cases: Sequence[Case]) -> list[Any]:
    """The cases as parameters; those that are not quick run with `make lab` only."""
    return [pytest.param(case, id=case.name, marks=[] if case.quick else [pytest.mark.full]) for case in cases]


def judge(case: Case, directory: Path, report: Report) -> Run:
    """Prove the limit, run loadtop against it, lift the limit; fails where any of that is not as it must be."""
    with contextlib.ExitStack() as stack:
        stand = case.build(Bench(stack), False)
        with Counters() as counters, Sign(stand.sign) as sign:
            tight = served_by_ab(stand.url, concurrency=case.concurrency, seconds=case.proof_s, launcher=stand.launcher)
            time.sleep(0.0 if tight else 2.0)  # ab that is refused at once leaves no time to read anything
        change = Change.between(counters.readings[4], counters.readings[-1])
        proof = Proof(change, sign.before, sign.peak, tight)
        assert case.proven(proof), proof
        time.sleep(1.0)  # the server still serves what ab asked for last
        run = watch_load(
            stand.url, (*case.load, *stand.watch), directory=directory, seconds=RUN_S, launcher=stand.launcher,
            codes=case.codes, keep=kept_as(case.expected, case.name),
        )  # fmt: skip
        inode = None if stand.locked is None else stand.locked.stat().st_ino
    lifted = _lifted(case) if case.gain is not None else tight
    seconds = None if case.expected == "none" else run.seconds_to(case.expected)
    report(Result(case.name, case.expected, run.bottleneck, seconds))
    if case.gain is not None:
        assert lifted > 0
        assert lifted >= case.gain * tight, f"{lifted} requests/s without the limit, {tight} with it: it is none"
    assert run.bottleneck == case.expected, run.summary["timeline"]
    named = run.summary["verdict"]["dependency"]
    assert stand.service == (named and named["address"])
    lock = run.summary["verdict"]["lock"]
    assert inode is None or (lock and lock["inode"] == inode), lock
    for part in case.advice.split(" ... "):
        assert part in run.advice
    evidence = {entry["metric"] for entry in run.summary["verdict"]["evidence"]}
    assert any(metric.startswith(case.evidence) for metric in evidence), evidence
    if case.expected != "none" and not case.at_once:
        assert seconds is not None
        assert seconds <= case.within_s
    return run


def _lifted(case: Case) -> float:
    with contextlib.ExitStack() as stack:
        stand = case.build(Bench(stack), True)
        return served_by_ab(stand.url, concurrency=case.concurrency, seconds=case.proof_s, launcher=stand.launcher)


def kept_as(expected: str, name: str) -> Path | None:
    """Where the recording of a case is kept; ``None`` where none is wanted."""
    if KEEP is None:
        return None
    return Path(KEEP) / ("".join(letter if letter.isalnum() else "-" for letter in f"{expected} {name}") + SUFFIX)
