"""The common parts of servers whose workers run an application: when a pool is full, and what to do then."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from loadtop.diagnosis.forecast import Use, served
from loadtop.diagnosis.memory import room_for
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement
from loadtop.diagnosis.waiting import backs_up
from loadtop.diagnosis.worker_time import longest_wait
from loadtop.i18n import Message, Text, Translatable, figure, grouped, mean_figure, plain, plural, sentences, tr
from loadtop.model import Process, Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import HostMetric
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind, WorkerPool, Workers, pool_memory
from loadtop.servers.worker_processes import WorkerProcesses

FULL_PCT = 100.0
CLEAR_PCT = 85.0
"""Percent of the workers that are busy. Linuxfabrik warns at 80 and calls 90 critical, but no request waits then."""

QUEUE = 0  # connections that wait for a worker: Linuxfabrik calls any critical

P = TypeVar("P", bound=WorkerProcesses)


class Pools(Struct, frozen=True):
    """A kind of server whose workers are processes: ``name``, ``group``, ``title``, ``record`` and ``metrics`` are
    those of its :class:`~loadtop.servers.kind.Kind`, ``letter``, ``workers`` (as its title) and ``sentence`` those of
    its verdict, ``enable`` and ``apply`` those of :class:`~loadtop.servers.kind.Workers`. ``configuration`` is for so
    many processes with so many threads each."""

    name: str
    group: str
    role: Role
    title: str
    record: type[WorkerProcesses]
    metrics: tuple[HostMetric, ...]
    letter: str
    workers: Translatable
    sentence: Translatable
    configuration: str
    enable: Translatable
    apply: Translatable

    @property
    def verdict(self) -> str:
        return f"{self.name}-workers"

    def kind(self) -> Kind[Any]:
        verdict = Verdict(
            name=self.verdict,
            letter=self.letter,
            title=self.workers,
            sentence=self.sentence,
            headline="are the limit",
            family=Family.POOL,
            role=self.role,
            of_host=self._assess,
            titles={
                f"{self.name}.full_pct": "workers busy",
                f"{self.name}.active": "requests served at once",
                f"{self.name}.listen_queue": "pool queue",
                f"{self.name}.callers": "requests needing a worker",
            },
        )
        return Kind(
            self.name,
            self.group,
            self.role,
            title=self.title,
            record=self.record,
            metrics=self.metrics,
            verdicts=(verdict,),
            demands=self._demands,
            rows=self._rows,
            brief=self._brief,
            settings=self._settings,
            seen=self._seen,
            workers=Workers(
                setting="workers x threads",
                verdict=self.verdict,
                pools=self._sized,
                allowed=_whole_processes,
                configuration=self._configured,
                takes_page=False,
                enable=self.enable,
                apply=self.apply,
            ),
        )

    def _assess(self, measured: Measured, host: HostView) -> Assessment | None:
        """The fullest pool has no free worker while requests wait for one. The reading shows a single moment: free
        workers count as busy while at least as many requests wait for them."""
        pools = [each.reading for each in host.servers(self.name, self.record) if each.reading.full is not None]
        if not pools:
            return None
        pool = max(pools, key=lambda each: (each.queued or 0, each.full or 0.0))
        active, most, queue = pool.active or 0, pool.slots or 1, pool.queued
        asking = callers_of(measured, host)
        crowded = asking is None or asking > most
        busy = active + (queue or 0)
        waits = bool(pool.listen_queue) or (crowded and queue != QUEUE)
        return Assessment(
            over=waits and (busy >= most or active == pool.started) and backs_up(measured, most),
            held=100.0 * busy / most >= CLEAR_PCT,
            evidence=(
                Row(f"{self.name}.full_pct", pool.full, FULL_PCT, "%", "every worker of the pool is busy"),
                Row(f"{self.name}.active", active, most, "requests", f"{self.title}: workers x threads"),
                Row(f"{self.name}.listen_queue", queue, QUEUE, "conn", "Linuxfabrik monitoring plugins: above 0"),
                Row(f"{self.name}.callers", asking, most, "requests", "loadtop: more requests than workers"),
            ),
            advice=lambda: self._advice(measured, host, pool, asking),
            confidence=agreement(bool(queue) or None, crowded),
        )

    def _advice(self, measured: Measured, host: HostView, pool: WorkerProcesses, asking: int | None) -> Message:
        most, workers, threads = pool.slots or 1, pool.workers or 1, pool.threads or 1
        waiting = pool.queued
        queue = plural(waiting, "{n} request is waiting.", "{n} requests are waiting.") if waiting else None
        if pool.started is not None and pool.started < most:
            slow = Message(
                "Raise --cheaper of {program}, the minimum number of workers: only {started} of {workers} workers run, "
                "and the pool grows too slowly.",
                program=self.title,
                started=pool.started // threads,
                workers=workers,
            )
            return sentences(slow, queue)
        more = "Raise --workers of {program} from {workers}."
        if asking is not None and asking > most:
            more = "Raise --workers of {program} from {workers} to {wanted}: {in_flight} requests are in flight."
            if threads > 1:
                more = (
                    "Raise --workers of {program} from {workers} to {wanted} ({threads} threads each): {in_flight} "
                    "requests are in flight."
                )
        all_busy = "All {slots} workers of {program} are busy while the CPU is not."
        if threads > 1:
            all_busy = "All {slots} threads of the workers of {program} are busy while the CPU is not."
        wanted = -(-(asking or 0) // threads)
        return sentences(
            Message(
                more,
                program=self.title,
                workers=workers,
                wanted=wanted,
                threads=threads,
                in_flight=measured.in_flight,
            ),
            room_for(host, self.group, workers, wanted),
            Message(all_busy, slots=most, program=self.title),
            queue,
            longest_wait(measured, Role.APPLICATION),
        )

    def _demands(self, measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
        pools = [each.reading for each in host.servers(self.name, self.record)]
        pool = max(pools, key=lambda each: each.full or 0.0, default=None)
        if pool is None or pool.active is None or pool.slots is None:
            return {}
        used = served(measured, pool.active + 1, alone=alone)  # no worker serves the reading
        return {self.verdict: Use(used, pool.slots)}

    def _configured(self, pool: WorkerPool, workers: int) -> str:
        threads = pool.threads_per_child or 1
        return self.configuration.format(workers=workers // threads, threads=threads)

    def _sized(
        self, readings: Sequence[ServerRates[WorkerProcesses]], processes: Sequence[Process]
    ) -> Iterator[WorkerPool]:
        # The processes of several pools look alike: only where there is one is their memory its own.
        memory = pool_memory(processes) if len(readings) == 1 else (None, None)
        for pool in (each.reading for each in readings):
            if pool.slots is not None and pool.active is not None and pool.started is not None:
                busy, threads = pool.active, pool.threads or 1
                number = pool.started // threads
                yield WorkerPool(
                    self.name, pool.key, "", pool.slots, pool.started, busy, busy, threads, number, *memory
                )

    def _rows(self, host: Json) -> list[str]:
        return [
            tr(
                "  {program} {pool}  active {active} of {all} workers  queue {queue}{rate}",
                program=f"{self.name:<8}",
                pool=plain(pool["address"]),
                active=mean_figure(pool["active"]),
                all=tr("an unknown number of")
                if not (pool["workers"] and pool["threads"])
                else pool["workers"] * pool["threads"],
                queue=figure(_queue(pool)),
                rate=tr("  {rate} requests/s", rate=mean_figure(pool["requests_s"])) if "requests_s" in pool else "",
            )
            for pool in host[self.name]
        ]

    def _brief(self, pools: Sequence[ServerRates[P]]) -> str:
        words = ""
        for pool in (each.reading for each in pools):
            queue = tr(" queue {number}", number=pool.queued) if pool.queued else ""
            words += f" {self.name} {figure(pool.active)}/{figure(pool.slots)}{queue}"
        return words

    def _settings(self, pools: Sequence[P]) -> Iterator[tuple[str, str]]:
        for pool in pools:
            for name, value in (("workers", pool.workers), ("threads", pool.threads)):
                if value is not None:
                    yield f"{self.name} {plain(pool.key)} {name}", str(value)

    def _seen(self, pools: tuple[P, ...]) -> Text:
        return grouped(
            Message(
                "{address}: workers {workers}, threads {threads}, queue {queue}",
                address=pool.address,
                workers=figure(pool.workers),
                threads=figure(pool.threads),
                queue=figure(pool.queued),
            )
            for pool in pools
        )


def _queue(pool: Json) -> float | None:
    """The mean of ``queued``: with the ``connections`` that gunicorn's workers accepted while they were busy."""
    waiting, accepted, active = pool["listen_queue"], pool.get("connections"), pool["active"]
    if waiting is None:
        return None
    more = 0.0 if accepted is None or active is None else accepted["mean"] - active["mean"]
    return float(waiting["mean"] + more)


def _whole_processes(pool: WorkerPool, workers: int) -> int:
    threads = pool.threads_per_child or 1
    return max(1, workers // threads) * threads


def callers_of(measured: Measured, host: HostView) -> int | None:
    """How many requests may want a worker at once: those in flight that the web server on this host lets in."""
    load = measured.load
    if load is None or load.in_flight is None:
        return None
    slots = sum(server.slots or 0 for server in measured.readings(host, Role.WEB))
    return min(load.in_flight, slots) if slots else load.in_flight
