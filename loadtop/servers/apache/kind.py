"""Apache as a kind of server. Its verdict: all worker slots are taken, so that requests wait for a worker."""

from collections.abc import Callable, Iterator, Sequence

from loadtop.diagnosis.finding import Evidence
from loadtop.diagnosis.forecast import Use, served
from loadtop.diagnosis.memory import MEMORY, room_for, worker_room
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds
from loadtop.diagnosis.waiting import backs_up
from loadtop.diagnosis.worker_time import longest_wait
from loadtop.i18n import Message, Text, Translatable, grouped, listed, mean_figure, plain, sentences, tr
from loadtop.model import Cause, HostSample, Process, Role, State
from loadtop.model.places import port_of
from loadtop.model.server import FULL_PCT
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import HostRates, ServerRates
from loadtop.servers.apache.record import GROUP, NAME, SERVER, ApacheStatus
from loadtop.servers.kind import (
    ChartLine,
    Json,
    Kind,
    Lack,
    ReportColumn,
    ServerChart,
    WorkerPool,
    Workers,
    pool_memory,
)

KEEPALIVE_SHARE = 0.1  # with more of the slots holding idle connections than this there is no forecast; our own

DEFAULT_THREADS = 25  # ThreadsPerChild where the server does not tell it: Apache's own default

SLOTS: Translatable = "worker slots"

FULL_SOURCE = "Linuxfabrik monitoring plugins: 95 % of the slots"
FULL_CLEAR_PCT = 85.0  # percent of the slots taken below which it is cleared
QUEUE = 0  # connections in the accept queue of the server's ports: any that stays there waits for a worker

HALF = 0.5  # part of the slots that must be taken before requests beyond their number count as waiting; our own


def _assess(measured: Measured, host: HostView) -> Assessment | None:
    """By the scoreboard; by the accept queue where the page cannot answer, as it needs a worker itself."""
    rates, sample = host.rates, host.sample
    if rates is None or sample is None:
        return None
    pages = [each.reading for each in host.servers(NAME, ApacheStatus)]
    queue = _accept_queue(measured, host, pages)
    if pages:
        return _by_scoreboard(measured, host, max(pages, key=lambda page: page.full), queue)
    silent = any(outcome.collector == NAME and outcome.state is State.FAILED for outcome in sample.outcomes)
    if not silent or queue is None or rates.group(GROUP) is None:
        return None
    return Assessment(
        over=queue > QUEUE,
        held=queue > QUEUE,
        evidence=(Row("tcp.accept_queue", queue, QUEUE, "conn", "loadtop, calibrated"),),
        advice=Message(
            "Raise MaxRequestWorkers as far as memory allows: the status page does not "
            "respond, and connections wait to be accepted."
        ),
        confidence=agreement(False, True),
    )


def _by_scoreboard(measured: Measured, host: HostView, page: ApacheStatus, queue: int | None) -> Assessment:
    """The status page can only answer once a slot is free, and event frees several at a time. So free slots count as
    busy while requests wait for them. If none wait, the slot that served the page itself counts as free."""
    flying = measured.in_flight
    taken = page.busy + page.graceful
    waits = queue or 0
    if flying is not None and taken - 1 >= HALF * page.capacity:
        # An accept queue may be some seconds old, or not be known; what no server has a slot for waits in any case.
        servers = [each for host in measured.hosts for each in measured.readings(host, Role.WEB)]
        waits = max(waits, flying - sum(each.slots or 0 for each in servers))
    alone = queue is None and (flying is None or taken - 1 > flying)
    if not waits and not alone and (flying is None or flying < page.capacity):
        taken = max(0, taken - 1)
    wanted = 100.0 * (taken + waits) / page.capacity if page.capacity else 0.0
    return Assessment(
        over=wanted >= FULL_PCT and backs_up(measured, page.capacity),
        held=wanted >= FULL_CLEAR_PCT,
        evidence=(
            Row("apache.full_pct", page.full, FULL_PCT, "%", FULL_SOURCE),
            Row("apache.busy", page.busy + page.graceful, page.capacity, "slots", "scoreboard"),
            Row("tcp.accept_queue", queue, QUEUE, "conn", "loadtop, calibrated"),
        ),
        advice=lambda: _advice(measured, host, page),
        confidence=agreement(exceeds(queue, QUEUE), page.idle == 0 and page.open == 0),
    )


def _advice(measured: Measured, host: HostView, page: ApacheStatus) -> Message:
    capacity = page.capacity
    flying = measured.in_flight or 0
    template = "Raise MaxRequestWorkers from {capacity}: all workers are busy while the CPU is not."
    if flying and flying >= capacity:
        template = (
            "Raise MaxRequestWorkers from {capacity} to {wanted} ({in_flight} requests in flight, 1 for the status "
            "page): all workers are busy while the CPU is not."
        )
    more = Message(template, capacity=capacity, wanted=flying + 1, in_flight=flying)
    kept = page.keepalive
    shorter = Message("Or shorten KeepAliveTimeout: {slots} workers only hold idle keep-alive connections.", slots=kept)
    room = Message("Make sure that there is enough memory.")
    if page.mpm == "prefork":
        room = room_for(host, GROUP, capacity, flying + 1)
    if kept > capacity / 2:
        return sentences(more, shorter, room)
    return sentences(more, longest_wait(measured, Role.WEB), room)


def _accept_queue(measured: Measured, host: HostView, pages: Sequence[ApacheStatus]) -> int | None:
    """Connections waiting on the tested port of this machine, and where it has another, as behind a proxy, on the one
    of its pages; ``None`` where that was not read."""
    load, sample = measured.load, host.sample
    if load is None or sample is None or sample.tcp is None:
        return None
    if load.server is None:
        # Nothing has been answered yet, so that the port is not known: what requests wait at is the fullest.
        waiting = max((listener.queue for listener in sample.tcp.listeners), default=0)
        return waiting if load.in_flight and waiting else None
    ports = {load.server.port, *(port_of(page.url) for page in pages)}
    queues = [listener.queue for listener in sample.tcp.listeners if listener.port in ports]
    return sum(queues) if queues else None


def _headroom(host: HostView) -> Iterator[Evidence]:
    for page in host.servers(NAME, ApacheStatus):
        yield Evidence("apache.full_pct", host.name, page.reading.full, FULL_PCT, "%", FULL_SOURCE, below=True)


APACHE_WORKERS = Verdict(
    name="apache-workers",
    letter="A",
    title="Apache workers",
    sentence="Apache's worker slots are the limit",
    headline="are the limit",
    family=Family.POOL,
    role=Role.WEB,
    of_host=_assess,
    headroom=_headroom,
    titles={"apache.full_pct": "slots in use", "apache.busy": "busy workers"},
)


def _processes(name: str) -> Callable[[HostView], float | None]:
    """A figure of the group of Apache's processes."""
    return lambda host: None if host.rates is None else getattr(host.rates.group(GROUP), name, None)


def _first(read: Callable[[ServerRates[ApacheStatus]], float | None]) -> Callable[[HostView], float | None]:
    return lambda host: next(map(read, host.servers(NAME, ApacheStatus)), None)


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    pages = [each.reading for each in host.servers(NAME, ApacheStatus)]
    page = max(pages, key=lambda page: page.full, default=None)
    if page is None or page.keepalive > KEEPALIVE_SHARE * page.capacity:
        return {}
    demands = {APACHE_WORKERS.name: Use(served(measured, page.busy, alone=alone), page.capacity)}
    room = worker_room(host, GROUP) if page.mpm == "prefork" else None
    if room is not None and room.workers < page.capacity:
        demands[MEMORY.name] = Use(demands[APACHE_WORKERS.name].used, room.workers)
    return demands


def _single(page: ApacheStatus) -> Json:
    names = ("mpm", "capacity", "max_request_workers", "server_limit", "threads_per_child", "listen_backlog")
    return {name: getattr(page, name) for name in names}


def _rows(host: Json) -> list[str]:
    httpd, apache = host["httpd"], host[NAME]
    rows: list[str] = []
    if httpd["processes"] is not None:
        each = httpd["pss_kb_mean"] or httpd["rss_kb_mean"]
        basis = "PSS" if httpd["pss_kb_mean"] else "RSS"
        size = "" if each is None else tr("  {size} MB each ({basis})", size=f"{each / 1024:.1f}", basis=basis)
        rows.append(
            tr(
                "  httpd    processes {number}  running {running}  cpu {cpu} % of a core{size}",
                number=mean_figure(httpd["processes"]),
                running=mean_figure(httpd["running"]),
                cpu=mean_figure(httpd["cpu_pct"]),
                size=size,
            )
        )
    if apache is not None:
        rows.append(
            tr(
                "  apache   {mpm}  busy {busy} of {all} slots  {rate} requests/s",
                mpm=plain(apache["mpm"]),
                busy=mean_figure(apache["busy"]),
                all=apache["capacity"],
                rate=mean_figure(apache["requests_s"]),
            )
        )
    return rows


def _brief(pages: Sequence[ServerRates[ApacheStatus]]) -> str:
    return "".join(tr(" busy {busy}/{all}", busy=page.reading.busy, all=page.reading.capacity) for page in pages)


def _settings(pages: Sequence[ApacheStatus]) -> Iterator[tuple[str, str]]:
    for page in pages:
        where = f" {plain(page.url)}" if len(pages) > 1 else ""
        yield f"Apache{where}", plain(page.version)
        yield f"MPM{where}", plain(page.mpm)
        yield f"{SLOTS}{where}", str(page.capacity)
        if page.max_request_workers is not None:
            yield f"MaxRequestWorkers{where}", str(page.max_request_workers)
        if page.threads_per_child is not None:
            yield f"ThreadsPerChild{where}", str(page.threads_per_child)


def _slots(read: Callable[[ApacheStatus], int]) -> Callable[[HostRates], float | None]:
    return lambda rates: sum_known(float(read(page.reading)) for page in rates.of_kind(NAME, ApacheStatus))


def _seen(pages: tuple[ApacheStatus, ...]) -> Text:
    unknown = Message("MPM unknown")
    return grouped(
        Message("{mpm}, {number} slots ({url})", mpm=page.mpm or unknown, number=page.capacity, url=page.url)
        for page in pages
    )


def _lacks(pages: tuple[ApacheStatus, ...], sample: HostSample) -> Lack:
    unknown: list[str] = []
    if any(page.max_request_workers is None for page in pages):
        unknown.append("MaxRequestWorkers")
    if any(page.listen_backlog is None for page in pages):
        unknown.append("ListenBacklog")
    if unknown:
        reason = Message("{names}: unknown, because the configuration cannot be read", names=listed(unknown))
        return Lack(reason, Cause.ROOT)
    # The kernel cuts a ListenBacklog to net.core.somaxconn (listen(2)).
    limits = {listener.port: listener.backlog for listener in (sample.tcp.listeners if sample.tcp is not None else ())}
    for page in pages:
        limit = limits.get(port_of(page.url))
        if limit and page.listen_backlog is not None and limit < page.listen_backlog:
            asked = page.listen_backlog
            return Lack(
                Message(
                    "its ListenBacklog of {asked} is cut to {limit} by net.core.somaxconn", asked=asked, limit=limit
                ),
                fix=Message("sudo sysctl -w net.core.somaxconn={asked}   (then restart Apache)", asked=asked),
            )
    return Lack()


def _pools(pages: Sequence[ServerRates[ApacheStatus]], processes: Sequence[Process]) -> Iterator[WorkerPool]:
    for page in (each.reading for each in pages):
        busy = max(0, page.busy + page.graceful - 1)
        started, threads = page.capacity - page.open, page.threads_per_child
        number = page.processes or max(1, len(processes) - 1)
        memory = pool_memory(processes)
        yield WorkerPool(NAME, "", page.mpm, page.capacity, started, busy, busy, threads, number, *memory)


def _threaded(pool: WorkerPool, workers: int) -> tuple[int, int]:
    """ThreadsPerChild and ServerLimit for at most ``workers``: whole processes, as Apache rounds down itself."""
    threads = 1 if pool.manager == "prefork" else pool.threads_per_child or DEFAULT_THREADS
    if workers < threads:
        return workers, 1
    return threads, workers // threads


def _allowed(pool: WorkerPool, workers: int) -> int:
    threads, servers = _threaded(pool, workers)
    return threads * servers


def _configuration(pool: WorkerPool, workers: int) -> str:
    threads, servers = _threaded(pool, workers)
    per_child = {} if pool.manager == "prefork" else {"ThreadsPerChild": threads}
    directives = {"ServerLimit": servers, **per_child, "MaxRequestWorkers": threads * servers}
    mpm = pool.manager if pool.manager in ("prefork", "event", "worker") else "event"
    lines = [f"    {name:<19} {value}" for name, value in directives.items()]
    return "\n".join([f"<IfModule mpm_{mpm}_module>", *lines, "</IfModule>"])


APACHE = Kind(
    *SERVER,
    title="Apache",
    record=ApacheStatus,
    metrics=(
        Metric("httpd.processes", "httpd processes", "", "neither", _processes("processes")),
        Metric("httpd.running", "httpd running", "", "neither", _processes("running")),
        Metric("httpd.threads", "httpd threads", "", "neither", _processes("threads")),
        Metric("httpd.cpu_pct", "httpd CPU", "% of a core", "neither", _processes("cpu")),
        Metric("httpd.wait_pct", "httpd CPU wait", "% of a core", "lower", _processes("wait")),
        Metric("apache.busy", "busy workers", "slots", "neither", _first(lambda page: page.reading.busy)),
        Metric("apache.idle", "idle workers", "slots", "neither", _first(lambda page: page.reading.idle)),
        Metric("apache.keepalive", "keep-alive", "slots", "lower", _first(lambda page: page.reading.keepalive)),
        Metric(
            "apache.requests_s", "Apache requests", "/s", "higher", _first(lambda page: page.per_second["accesses"])
        ),
    ),
    verdicts=(APACHE_WORKERS,),
    demands=_demands,
    rows=_rows,
    brief=_brief,
    settings=_settings,
    single=_single,
    columns=(
        ReportColumn("httpd", lambda host: (host["httpd"]["processes"], None)),
        ReportColumn(
            "busy workers",
            lambda host: (None, None) if host[NAME] is None else (host[NAME]["busy"], host[NAME]["capacity"]),
        ),
    ),
    charts=(
        ServerChart(
            "Apache workers",
            "slots",
            (
                ChartLine("apache.all_busy", "busy", "b", _slots(lambda page: page.busy)),
                ChartLine("apache.all_keepalive", "of these, keep-alive", "e", _slots(lambda page: page.keepalive)),
                ChartLine("apache.all_slots", "slots", "d", _slots(lambda page: page.capacity), dashed=True),
            ),
        ),
    ),
    seen=_seen,
    lacks=_lacks,
    workers=Workers(
        setting="MaxRequestWorkers",
        verdict=APACHE_WORKERS.name,
        pools=_pools,
        allowed=_allowed,
        configuration=_configuration,
        takes_page=True,
        enable="Enable mod_status and set its URL with --apache.",
        apply="ServerLimit needs a restart, not a reload.",
    ),
)
