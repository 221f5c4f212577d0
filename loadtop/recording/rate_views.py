# ruff: noqa: S608 - the SQL here is made of the names and constants of the schema alone
"""The usual rates as views: what :mod:`loadtop.rates.compute` computes, in SQL.

A rate is between a fresh sample of a machine and the fresh one before it; ``b_NAME`` is the value in the latter. Where
a thing was not in the one before, ``b_frame`` is not ``previous``.
"""

from collections.abc import Iterator, Sequence

_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_PAGING = ("swap_in_kb", "swap_out_kb", "major_faults", "direct_reclaimed_pages", "allocation_stalls", "oom_kills")
_PRESSURES = ("cpu_some", "memory_some", "memory_full", "io_some", "io_full")
_TCP = ("listen_overflows", "listen_drops", "retransmits", "passive_opens", "active_opens")
_DISK = ("reads", "read_kb", "read_ms", "writes", "write_kb", "write_ms", "busy_ms", "queue_ms")
_NETWORK = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors", "tx_errors", "rx_drops", "tx_drops")
_SECONDS = "(host_uptime_s - b_host_uptime_s)"
_BOTH = f"b_frame = previous AND {_SECONDS} > 0"


def rate_views() -> Iterator[str]:
    """What makes the views of rates, given those of the parts."""
    yield _view("cpu_rates", "cpu", "host", _STATES, _shares())
    yield _view("core_rates", "core", "host, id", _STATES, ["id", *_shares()])
    yield _view("paging_rates", "paging", "host", (*_PAGING, *_REFAULTS), _paging())
    stalls = [f"{name}_us" for name in _PRESSURES]
    shares = [f"min(100.0, {_rate(f'{name}_us')} / 10000.0) AS {name}_pct" for name in _PRESSURES]
    yield _view("pressure_rates", "pressure", "host", stalls, shares)
    whole = "reads >= b_reads AND writes >= b_writes"
    yield _view("disk_rates", "disk", "host, name", _DISK, _disk(), f"{_BOTH} AND {whole}")
    whole = "rx_bytes >= b_rx_bytes AND tx_bytes >= b_tx_bytes"
    yield _view("network_rates", "network", "host, name", _NETWORK, _network(), f"{_BOTH} AND {whole}")
    gauges = ["time_wait", "in_use", "established"]
    yield _view("tcp_rates", "tcp", "host", _TCP, [f"{_rate(name)} AS {name}_s" for name in _TCP] + gauges)
    yield from _processes()
    yield from _servers()
    yield from _load()


def _view(
    name: str, source: str, things: str, counters: Sequence[str], columns: Sequence[str], where: str = _BOTH
) -> str:
    before = ", ".join(f"lag({counter}) OVER w AS b_{counter}" for counter in ("frame", "host_uptime_s", *counters))
    return (
        f"CREATE VIEW {name} AS SELECT frame, at, host, iif({_BOTH}, {_SECONDS}, NULL) AS seconds, "
        f"{', '.join(columns)} "
        f"FROM (SELECT *, {before} FROM {source} WHERE fresh WINDOW w AS (PARTITION BY {things} ORDER BY frame)) "
        f"WHERE {where}"
    )


def _rate(name: str, seconds: str = _SECONDS) -> str:
    """Per second; NULL where it was not in both samples or went backwards."""
    return f"iif({_BOTH} AND {name} >= b_{name}, ({name} - b_{name}) / {seconds}, NULL)"


def _passed(name: str) -> str:
    """What came since the sample before; a state that went backwards counts as 0."""
    return f"max(0, {name} - b_{name})"


def _shares() -> list[str]:
    whole = " + ".join(f"coalesce({_passed(state)}, 0)" for state in _STATES)
    shares = [f"100.0 * {_passed(state)} / nullif({whole}, 0) AS {state}_pct" for state in _STATES]
    busy = " + ".join(f"coalesce({_passed(state)}, 0)" for state in ("user", "nice", "system", "irq", "softirq"))
    return [*shares, f"100.0 * ({busy}) / nullif({whole}, 0) AS busy_pct"]


_REFAULTS = ("refaults_anon_pages", "refaults_file_pages")


def _paging() -> list[str]:
    now, before = (
        f"coalesce({each}refaults_anon_pages + {each}refaults_file_pages, {each}refaults_anon_pages, "
        f"{each}refaults_file_pages)"
        for each in ("", "b_")
    )
    refaults = f"iif({now} >= {before}, ({now} - {before}) / {_SECONDS}, NULL) AS refaults_pages_s"
    return [*(f"{_rate(name)} AS {name}_s" for name in _PAGING), refaults]


def _disk() -> list[str]:
    requests = "(reads - b_reads + writes - b_writes)"
    waited = "(read_ms - b_read_ms + write_ms - b_write_ms)"
    return [
        "name",
        f"min(100.0, {_rate('busy_ms')} / 10.0) AS util_pct",
        f"iif({waited} >= 0, {waited} * 1.0 / nullif({requests}, 0), NULL) AS await_ms",
        f"{_rate('queue_ms')} / 1000.0 AS queue",
        f"(read_kb - b_read_kb) / {_SECONDS} AS read_kb_s",
        f"(write_kb - b_write_kb) / {_SECONDS} AS write_kb_s",
        f"{requests} / {_SECONDS} AS requests_s",
        "swap",
    ]


def _network() -> list[str]:
    rx, tx = _rate("rx_bytes"), _rate("tx_bytes")
    troubles = [
        " + ".join(f"{before}{name}" for name in ("rx_errors", "tx_errors", "rx_drops", "tx_drops"))
        for before in ("", "b_")
    ]
    return [
        "name",
        f"{rx} / 1024.0 AS rx_kb_s",
        f"{tx} / 1024.0 AS tx_kb_s",
        f"{_passed('rx_packets')} / {_SECONDS} AS rx_packets_s",
        f"{_passed('tx_packets')} / {_SECONDS} AS tx_packets_s",
        f"max(0, {troubles[0]} - ({troubles[1]})) / {_SECONDS} AS errors_s",
        "link_mbit",
        f"100.0 * max({rx}, {tx}) * 8 / (nullif(link_mbit, 0) * 1e6) AS util_pct",
    ]


def _processes() -> Iterator[str]:
    cpu = f"{_rate('cpu_ticks')} AS cpu_pct"  # ticks are hundredths of a second: their rate is percent of one core
    columns = ["pid", "name", "process_group", "started_ticks", "state", "threads", cpu, "rss_kb", "pss_kb"]
    yield _view("process_rates", "process", "host, pid, started_ticks", ["cpu_ticks"], columns, "1")
    yield (
        "CREATE VIEW group_rates AS SELECT frame, at, host, process_group, count(*) AS processes, "
        "sum(state = 'R') AS running, sum(state = 'D') AS blocked, sum(threads) AS threads, sum(cpu_pct) AS cpu_pct, "
        "sum(rss_kb) AS rss_kb, iif(count(pss_kb) = count(*), sum(pss_kb), NULL) AS pss_kb "
        "FROM process_rates GROUP BY frame, host, process_group"
    )


def _servers() -> Iterator[str]:
    life = "coalesce(b_uptime_s, 0) <= coalesce(uptime_s, 0)"
    slots = [
        f"length(scoreboard) - length({removed}) AS {name}"
        for name, removed in (
            ("idle", "replace(scoreboard, '_', '')"),
            ("open", "replace(scoreboard, '.', '')"),
            ("keepalive", "replace(scoreboard, 'K', '')"),
            ("closing", "replace(scoreboard, 'C', '')"),
            ("graceful", "replace(scoreboard, 'G', '')"),
        )
    ]
    working = "scoreboard"
    for letter in "RWKDCL":
        working = f"replace({working}, '{letter}', '')"
    # A page is dated by itself where its collector did so.
    seconds = f"iif(clock_s > b_clock_s, clock_s - b_clock_s, {_SECONDS})"
    counters = ("clock_s", "uptime_s", "accesses", "kbytes", "duration_ms")
    both_lived = f"{life} AND accesses > b_accesses AND {_BOTH} AND duration_ms >= b_duration_ms"
    columns = [
        "url",
        "mpm",
        "version",
        "scoreboard",
        "length(scoreboard) AS capacity",
        f"length(scoreboard) - length({working}) AS busy",
        *slots,
        f"iif({life}, {_rate('accesses', seconds)}, NULL) AS requests_s",
        f"iif({life}, {_rate('kbytes', seconds)}, NULL) AS kb_s",
        f"iif({both_lived}, (duration_ms - b_duration_ms) * 1.0 / (accesses - b_accesses), NULL) AS duration_ms",
    ]
    yield _view("apache_rates", "apache", "host, url", counters, columns, "1")
    columns = ["pool", "active", "idle", "listen_queue", "max_children"]
    counted = {"accepted": "requests_s", "max_children_reached": "max_children_reached_s"}
    columns += [f"iif({life}, {_rate(counter, seconds)}, NULL) AS {name}" for counter, name in counted.items()]
    yield _view("fpm_rates", "fpm", "host, pool", ("clock_s", "uptime_s", *counted), columns, "1")
    columns = ["proxy", "server", "status", "queue", "sessions", "session_limit"]
    counted = {
        "sessions_total": "sessions_s",
        "connect_errors": "connect_errors_s",
        "requests_total": "requests_s",
        "http_5xx": "http_5xx_s",
    }
    columns += [f"{_rate(counter, seconds)} AS {name}" for counter, name in counted.items()]
    yield _view("haproxy_rates", "haproxy", "host, proxy, server", ("clock_s", *counted), columns, "1")


def _load() -> Iterator[str]:
    """The load has no machine, and its seconds are those of its own clock."""
    classes = ("connect", "receive", "length", "exceptions", "timeout", "unclassified")
    failed = f"max(0, {_all_failures('', classes)} - ({_all_failures('b_', classes)}))"
    requests = "(requests - b_requests)"
    counters = ("clock_s", "state", "counted_at", "requests", "non_2xx", "received_bytes", "sent_bytes")
    before = ", ".join(f"lag({name}) OVER w AS b_{name}" for name in (*counters, *classes))
    yield (
        "CREATE VIEW load_rates AS SELECT frame, at, seconds, state, step, concurrency, rate, in_flight, "
        f"{requests} / counted AS rps, {failed} / counted AS failed_s, "
        f"iif(counted > 0, iif({requests} > 0, 100.0 * min({failed}, {requests}) / {requests}, "
        f"iif({failed} > 0, 100.0, NULL)), NULL) AS failed_pct, "
        f"iif({requests} > 0, 100.0 * max(0, non_2xx - b_non_2xx) / {requests}, NULL) AS non_2xx_pct, "
        "max(0, received_bytes - b_received_bytes) / 1024.0 / counted AS received_kb_s, "
        "max(0, sent_bytes - b_sent_bytes) / 1024.0 / counted AS sent_kb_s "
        "FROM (SELECT *, clock_s - b_clock_s AS seconds, nullif(max(0.0, coalesce(counted_at, clock_s) - "
        f"coalesce(b_counted_at, b_clock_s)), 0.0) AS counted FROM (SELECT *, {before} FROM load LEFT JOIN failures "
        "USING (frame, at) WINDOW w AS (ORDER BY frame))) WHERE seconds > 0 AND coalesce(requests >= b_requests, TRUE) "
        "AND (state = 'warmup' OR coalesce(b_state, '') <> 'warmup')"
    )
    yield (
        "CREATE VIEW generator_rates AS SELECT frame, at, sum(share) AS cpu_pct, max(share) AS busiest_pct, "
        "count(*) AS workers, loop_delay_s * 1000.0 AS loop_delay_ms FROM (SELECT w.frame, w.at, g.loop_delay_s, "
        "100.0 * max(0.0, w.cpu_s - coalesce(w.b_cpu_s, 0.0)) / (w.clock_s - w.b_clock_s) AS share FROM (SELECT *, "
        "lag(cpu_s) OVER v AS b_cpu_s FROM worker JOIN (SELECT frame, clock_s, lag(clock_s) OVER (ORDER BY frame) "
        "AS b_clock_s FROM load) USING (frame) WINDOW v AS (PARTITION BY number ORDER BY frame)) w "
        "JOIN generator g USING (frame) WHERE w.clock_s > w.b_clock_s) GROUP BY frame"
    )


def _all_failures(before: str, classes: Sequence[str]) -> str:
    """Their sum. A class that the engine does not tell apart is NULL; ``unclassified`` only where nothing is known."""
    *others, unclassified = classes
    return " + ".join([*(f"coalesce({before}{name}, 0)" for name in others), f"{before}{unclassified}"])
