"""The common parts of servers whose workers run an application: when a pool is full, and what to do then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from loadtop.diagnosis.forecast import Demands, Use, served
from loadtop.diagnosis.memory import room_for
from loadtop.diagnosis.verdict import Assessment, Row, agreement
from loadtop.diagnosis.waiting import backs_up
from loadtop.i18n import Message, Text, Translatable, figure, grouped, mean_figure, plain, plural, sentences, tr
from loadtop.model import Process, Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, WorkerPool, Workers, pool_memory
from loadtop.servers.worker_processes import WorkerProcesses

FULL_PCT = 100.0
CLEAR_PCT = 85.0
"""Percent of the workers that are busy. Linuxfabrik warns at 80 and calls 90 critical, but no request waits then."""

QUEUE = 0  # connections that wait for a worker: Linuxfabrik calls any critical

P = TypeVar("P", bound=WorkerProcesses)


@dataclass(frozen=True, slots=True)
class Pools:
    """The pools of one kind of server: its ``name``, the ``group`` of its processes, its ``title``, its ``record``.

    ``configuration`` is for so many processes with so many threads each; ``enable`` and ``apply`` are those of
    :class:`~loadtop.servers.kind.Workers`."""

    name: str
    group: str
    title: str
    record: type[WorkerProcesses]
    configuration: str
    enable: Translatable
    apply: Translatable

    def assess(self, measured: Measured, host: HostView) -> Assessment | None:
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
                Row(f"{self.name}.active", active, most, "workers", f"{self.title}: workers x threads"),
                Row(f"{self.name}.listen_queue", queue, QUEUE, "conn", "Linuxfabrik: any over 0"),
                Row(f"{self.name}.callers", asking, most, "requests", "loadtop: those that want a worker"),
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
                "Raise --cheaper from {started} workers: the pool grows too slowly towards its limit of {workers}.",
                started=pool.started // threads,
                workers=workers,
            )
            return sentences(slow, queue)
        more = "Raise --workers of {program} from {workers}."
        if asking is not None and asking > most:
            more = "Raise --workers of {program} from {workers} to {wanted}: {in_flight} requests are in flight."
        all_busy = "All {slots} workers of {program} are busy while the CPU is not."
        if threads > 1:
            all_busy = "All {slots} threads of the workers of {program} are busy while the CPU is not."
        return sentences(
            Message(
                more,
                program=self.title,
                workers=workers,
                wanted=-(-(asking or 0) // threads),
                in_flight=measured.in_flight,
            ),
            room_for(host, self.group, workers),
            Message(all_busy, slots=most, program=self.title),
            queue,
        )

    def demands(self, verdict: str) -> Demands:
        def of_host(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
            pools = [each.reading for each in host.servers(self.name, self.record)]
            pool = max(pools, key=lambda each: each.full or 0.0, default=None)
            if pool is None or pool.active is None or pool.slots is None:
                return {}
            used = served(measured, pool.active + 1, alone=alone)  # no worker serves the reading
            return {verdict: Use(used, pool.slots)}

        return of_host

    def workers(self, verdict: str) -> Workers[Any]:
        """How ``loadtop tune`` sizes the pools."""

        def configured(pool: WorkerPool, workers: int) -> str:
            threads = pool.threads_per_child or 1
            return self.configuration.format(workers=workers // threads, threads=threads)

        return Workers(
            setting="workers x threads",
            verdict=verdict,
            pools=self._sized,
            allowed=_whole_processes,
            configuration=configured,
            takes_page=False,
            enable=self.enable,
            apply=self.apply,
        )

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

    def rows(self, host: Json) -> list[str]:
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

    def brief(self, pools: Sequence[ServerRates[P]]) -> str:
        words = ""
        for pool in (each.reading for each in pools):
            queue = tr(" queue {number}", number=pool.queued) if pool.queued else ""
            words += f" {self.name} {figure(pool.active)}/{figure(pool.slots)}{queue}"
        return words

    def settings(self, pools: Sequence[P]) -> Iterator[tuple[str, str]]:
        for pool in pools:
            for name, value in (("workers", pool.workers), ("threads", pool.threads)):
                if value is not None:
                    yield f"{self.name} {plain(pool.key)} {name}", str(value)

    def seen(self, pools: tuple[P, ...]) -> Text:
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
    """The mean of ``queued``: gunicorn's workers have more ``connections`` than are ``active`` in its queue."""
    parts = [pool["listen_queue"], pool.get("connections"), pool["active"]]
    waiting, accepted, active = (None if each is None else each["mean"] for each in parts)
    return waiting if None in (waiting, accepted, active) else waiting + accepted - active


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
