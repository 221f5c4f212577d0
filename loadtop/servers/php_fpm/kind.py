"""php-fpm as a kind of server. Its verdict: every child of a pool is busy, so that requests wait for one."""

from collections.abc import Iterator, Sequence
from functools import partial

from loadtop.diagnosis.forecast import Use, served
from loadtop.diagnosis.memory import room_for
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement
from loadtop.diagnosis.waiting import backs_up
from loadtop.diagnosis.worker_time import longest_wait
from loadtop.i18n import Message, Text, figure, grouped, listed, mean_figure, plain, plural, sentences, tr
from loadtop.model import Cause, HostSample, Process, Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind, Lack, WorkerPool, Workers, pool_memory, summed
from loadtop.servers.php_fpm.record import GROUP, NAME, SERVER, FpmPool
from loadtop.servers.pools import CLEAR_PCT, FULL_PCT, QUEUE, callers_of

_sum = partial(summed, NAME, FpmPool)


def _assess(measured: Measured, host: HostView) -> Assessment | None:
    """The fullest pool has no free child while requests wait for one.

    The page shows a single moment: free children count as busy while at least as many requests wait for them. If the
    queue is unknown, having more callers than children means that some wait. The status page needs a child too: if it
    does not answer while connections wait at the pool's socket, that is evidence of a full pool.
    """
    pools = host.servers(NAME, FpmPool)
    if not pools:
        return None
    fullest = max(pools, key=lambda each: (each.reading.listen_queue or 0, each.reading.full or 0.0))
    pool = fullest.reading
    taken, queue, most = pool.full, pool.listen_queue, pool.most_children
    callers = callers_of(measured, host)
    crowded = callers is None or most is None or callers > most
    waits = queue > QUEUE if queue is not None else crowded
    silent = pool.active is None and pool.silent_s is not None
    if taken is None and not silent:
        return None
    busy = (pool.active or 0) + (queue or 0)
    full = silent if taken is None or most is None else busy >= most or pool.idle == 0
    started = pool.total or most
    if queue and taken is not None and started is not None and (callers is None or callers <= started):
        waits = busy - 1 > started  # one child writes the status page, and takes the next request at once
    # What requests take or wait for, without the child of the status page.
    wanted = 100.0 * (busy - 1) / most if most else 0.0
    return Assessment(
        over=full and waits and (most is None or backs_up(measured, most)),
        held=waits if taken is None else taken >= CLEAR_PCT and (queue is None or waits or wanted >= CLEAR_PCT),
        evidence=(
            Row("fpm.full_pct", taken, FULL_PCT, "%", "php-fpm: every child is busy"),
            Row("fpm.active", pool.active if most else None, most or 0, "children", "php-fpm: pm.max_children"),
            Row("fpm.listen_queue", queue, QUEUE, "conn", "Linuxfabrik monitoring plugins: above 0"),
            Row("fpm.silent_s", pool.silent_s, 0, "s", "the status page needs a child too"),
            Row(
                "fpm.callers", callers if most else None, most or 0, "requests", "loadtop: more requests than children"
            ),
        ),
        advice=lambda: _advice(measured, host, pool),
        confidence=agreement(bool(queue) or None, bool(fullest.per_second["max_children_reached"]) or None, crowded),
    )


def _advice(measured: Measured, host: HostView, pool: FpmPool) -> Message:
    most, callers = pool.most_children, callers_of(measured, host)
    queue = (
        plural(pool.listen_queue, "{n} request is waiting.", "{n} requests are waiting.") if pool.listen_queue else None
    )
    if pool.total is not None and most is not None and pool.total < most:
        started = Message(
            "All {total} running children of the php-fpm pool {pool} are busy.", total=pool.total, pool=pool.pool
        )
        raised = (
            "Raise pm.start_servers, pm.min_spare_servers and pm.max_spare_servers, or set pm = static: the pool "
            "grows too slowly towards its limit of {most}."
        )
        if pool.manager == "ondemand":  # which has neither
            raised = "Set pm = static: the pool grows too slowly towards its limit of {most}."
        slow = Message(raised, most=most)
        return sentences(slow, started, queue, longest_wait(measured, Role.APPLICATION))
    all_busy = "All children of the php-fpm pool {pool} are busy while the CPU is not."
    more = "Raise pm.max_children."
    if most is not None:
        all_busy = "All {most} children of the php-fpm pool {pool} are busy while the CPU is not."
    if pool.configured_children is not None:
        more = "Raise pm.max_children from {most}."
        if callers is not None and most is not None and callers > most:
            more = "Raise pm.max_children from {most} to {callers}: {in_flight} requests are in flight."
    in_flight = measured.in_flight
    return sentences(
        Message(more, most=most, callers=callers, in_flight=in_flight),
        room_for(host, GROUP, most or 1, callers or 0),
        Message(all_busy, most=most, pool=pool.pool),
        queue,
        longest_wait(measured, Role.APPLICATION),
    )


FPM_WORKERS = Verdict(
    name="fpm-workers",
    letter="H",
    title="php-fpm workers",
    sentence="The php-fpm pool is the limit",
    headline="are the limit",
    family=Family.POOL,
    role=Role.APPLICATION,
    of_host=_assess,
    titles={
        "fpm.full_pct": "pool in use",
        "fpm.active": "busy children",
        "fpm.listen_queue": "pool queue",
        "fpm.silent_s": "status request waiting for a child",
        "fpm.callers": "requests needing a child",
    },
)


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    pools = [each.reading for each in host.servers(NAME, FpmPool)]
    pool = max(pools, key=lambda each: each.full or 0.0, default=None)
    if pool is None or pool.active is None or pool.most_children is None:
        return {}
    return {FPM_WORKERS.name: Use(served(measured, pool.active, alone=alone), pool.most_children)}


def _rows(host: Json) -> list[str]:
    return [
        tr(
            "  php-fpm  {pool}  active {active} of {all} children  queue {queue}  {rate} requests/s",
            pool=plain(pool["pool"]),
            active=mean_figure(pool["active"]),
            all=tr("an unknown number of") if pool["max_children"] is None else pool["max_children"],
            queue=mean_figure(pool["listen_queue"]),
            rate=mean_figure(pool["requests_s"]),
        )
        for pool in host[NAME]
    ]


def _brief(pools: Sequence[ServerRates[FpmPool]]) -> str:
    words = ""
    for pool in (each.reading for each in pools):
        most = "" if pool.max_children is None else f"/{pool.max_children}"
        queue = tr(" queue {number}", number=pool.listen_queue) if pool.listen_queue else ""
        active = tr("silent") if pool.active is None and pool.silent_s else figure(pool.active)
        words += f" {plain(pool.pool)} {active}{most}{queue}"
    return words


def _settings(pools: Sequence[FpmPool]) -> Iterator[tuple[str, str]]:
    for pool in pools:
        yield f"php-fpm {plain(pool.pool)} manager", plain(pool.manager)
        if pool.max_children is not None:
            yield f"php-fpm {plain(pool.pool)} max_children", str(pool.max_children)


def _seen(pools: tuple[FpmPool, ...]) -> Text:
    return grouped(
        Message(
            "pool {pool}{where}: pm.max_children {most}, queue {queue}",
            pool=pool.pool,
            where=Message(" ({address})", address=pool.address) if pool.address else None,
            most=Message("unknown") if pool.max_children is None else pool.max_children,
            queue=Message("unknown") if pool.listen_queue is None else pool.listen_queue,
        )
        for pool in pools
    )


def _lacks(pools: tuple[FpmPool, ...], _: HostSample) -> Lack:
    unknown = [pool.pool for pool in pools if pool.max_children is None]
    if not unknown:
        return Lack()
    reason = Message("pm.max_children of {names} is unknown: cannot read the configuration", names=listed(unknown))
    return Lack(reason, Cause.ROOT)


def _pools(pools: Sequence[ServerRates[FpmPool]], processes: Sequence[Process]) -> Iterator[WorkerPool]:
    """The pools whose page reports figures. A pool whose page does not respond is full."""
    for pool in (each.reading for each in pools):
        silent = pool.silent_s is not None and pool.max_children is not None
        total = pool.max_children if silent and pool.total is None else pool.total
        active = pool.max_children if silent and pool.active is None else pool.active
        if total is None or active is None:
            continue
        # Processes do not tell their pool: only where there is one is their memory its own.
        rss, shared = pool_memory(processes) if len(pools) == 1 else (None, None)
        busy = active if silent else max(0, active - 1)
        yield WorkerPool(NAME, pool.pool, pool.manager, pool.max_children, total, busy, busy, None, total, rss, shared)


def _configuration(pool: WorkerPool, workers: int) -> str:
    lines = [f"[{pool.name}]", f"pm.max_children = {workers}"]
    if pool.manager == "dynamic":
        lines.append("; pm.start_servers and pm.max_spare_servers must not be larger")
    return "\n".join(lines)


PHP_FPM = Kind(
    *SERVER,
    title="php-fpm",
    record=FpmPool,
    metrics=(
        Metric("fpm.active", "busy php-fpm children", "", "neither", _sum("active")),
        Metric("fpm.listen_queue", "php-fpm queue", "", "lower", _sum("listen_queue")),
        Metric("fpm.requests_s", "php-fpm requests", "/s", "higher", _sum("accepted")),
    ),
    verdicts=(FPM_WORKERS,),
    demands=_demands,
    rows=_rows,
    brief=_brief,
    settings=_settings,
    seen=_seen,
    lacks=_lacks,
    workers=Workers(
        setting="pm.max_children",
        verdict=FPM_WORKERS.name,
        pools=_pools,
        allowed=lambda _, workers: workers,
        configuration=_configuration,
        takes_page=False,
        enable="Enable pm.status_path and set its URL with --fpm.",
        apply="Reload php-fpm for the change to take effect.",
    ),
)
