# ruff: noqa: S608 - the SQL here is made of the names and constants of the schema alone
"""Views that make of the blocks what people query: one for each part as it was measured, and the usual rates.

The SQL needs SQLite 3.34 or later with its JSON functions. Rates are those of :mod:`loadtop.rates.compute`, per
second of the machine's own clock, and NULL where that gives None.
"""

from collections.abc import Iterator

from loadtop.recording import schema
from loadtop.recording.rate_views import rate_views
from loadtop.recording.schema import BLOCK, HOSTS, KINDS, LATENCIES, THINGS, Column, Kind, Part

_STRETCH = HOSTS * THINGS
_POINT = "iif(c{0} LIKE '[%',json_extract(c{0},'$['||i||']'),unicode(substr(c{0},i+2,1)))p{0}"
"""The code point of an interval's character, NULL beyond the last. See :mod:`loadtop.recording.series` for all of this.

The columns of a row have numbers here (``place`` is 0, ``missing`` 1), which keeps the views short.
"""

_NUMBER = "p{0}-32-34*(p{0}>=160)-10240*(p{0}>=65536)z{0}"
_SUM = "f{0}+coalesce(sum((z{0}+1)/2*(1-z{0}%2*2))OVER w,0)"
_REAL = f"iif(f{{0}} IS NULL,json_extract(c{{0}},'$['||min(i,json_array_length(c{{0}})-1)||']'),({_SUM})/1e6)"

_LENGTHENED = """(WITH RECURSIVE walk(done, rest) AS (SELECT '', {0} UNION ALL
  SELECT done || substr(rest, 1, instr(rest, '~') - 1)
    || replace(hex(zeroblob(unicode(substr(rest, instr(rest, '~') + 1, 1)) - 32)), '00', ' '),
    substr(rest, instr(rest, '~') + 2) FROM walk WHERE instr(rest, '~'))
  SELECT done || rest FROM walk WHERE NOT instr(rest, '~'))"""

_TEXTS = """CREATE VIEW texts AS SELECT id, CASE
  WHEN typeof(text) = 'blob' THEN CAST(text AS TEXT)
  WHEN text GLOB '*[^ -~]*' THEN (WITH RECURSIVE walk(i, last, done) AS (SELECT 1, '', '' UNION ALL
    SELECT i + 1, substr(text, i, 1), done || CASE WHEN unicode(substr(text, i, 1)) >= 160
      THEN replace(hex(zeroblob(unicode(substr(text, i, 1)) - 160)), '00', last) ELSE substr(text, i, 1) END
    FROM walk WHERE i <= length(text)) SELECT done FROM walk ORDER BY i DESC LIMIT 1)
  ELSE text END AS text FROM text"""

_LATENCIES = f"""CREATE VIEW latency AS SELECT f.id AS frame, f.at,
  CASE h.id % {KINDS} {" ".join(f"WHEN {n} THEN '{name}'" for n, name in enumerate(LATENCIES))} END AS kind,
  count, sum_us / 1e3 / nullif(count, 0) AS mean_ms, min_us / 1e3 AS min_ms, max_us / 1e3 AS max_ms, sum_us,
  sum_squares_us2, histogram
  FROM latency_histogram h JOIN frame f ON f.id = h.id / {KINDS}"""

_LINEAR = _NUMBER.removesuffix("z{0}").replace("p{0}", "{0}")
_MORE = f"(({_LINEAR.format('following')})%m=m-1)"
_COUNT = f"({_LINEAR.format('point')})%m+1+{_MORE}*(m-1)*(({_LINEAR.format('following')})/m)"
_WALK = f"""WITH RECURSIVE walk(i, m, point, following, bucket, count, passed) AS (
  SELECT 2, {_LINEAR.format("unicode(histogram)")}, unicode(substr(histogram, 2, 1)),
    coalesce(unicode(substr(histogram, 3, 1)), 32), -1, 0, 0
  UNION ALL SELECT i+1+{_MORE}, m, unicode(substr(histogram, i+1+{_MORE}, 1)),
    coalesce(unicode(substr(histogram, i+2+{_MORE}, 1)), 32), bucket+({_LINEAR.format("point")})/m+1,
    {_COUNT}, passed+{_COUNT} FROM walk WHERE point IS NOT NULL{{0}})"""
"""The buckets of a histogram, from the least on, after a row that is none (its count is 0).

A character and the one that follows it are looked at together: see :func:`loadtop.recording.packing.pack_histogram`.
"""

_LOW = "((b - (max(0, (b >> 7) - 1) << 7)) << max(0, (b >> 7) - 1))"
_WIDTH = "(1 << max(0, (b >> 7) - 1))"
"""What a bucket ``b`` counts, see :mod:`loadtop.model.histogram`."""

_BUCKETS = f"""CREATE VIEW latency_bucket AS
  SELECT frame, at, kind, {_LOW} AS from_us, {_LOW} + {_WIDTH} - 1 AS to_us, count
  FROM (SELECT frame, at, kind, json_extract(j.value, '$[0]') AS b, json_extract(j.value, '$[1]') AS count
    FROM latency,
    json_each(({_WALK.format("")} SELECT json_group_array(json_array(bucket, count)) FROM walk WHERE count)) j
    WHERE histogram NOT LIKE '[%'
    UNION ALL SELECT frame, at, kind, b.value, c.value
    FROM latency, json_each(histogram, '$[0]') b JOIN json_each(histogram, '$[1]') c ON c.key = b.key
    WHERE histogram LIKE '[%')"""


def _percentiles() -> str:
    """Each is the middle of the bucket that it falls into: within 0.4 % of the value itself."""
    columns: list[str] = []
    for percent in (50, 75, 90, 95, 99, 99.9):
        rank = f"{percent / 100} * l.count"
        packed = f"{_WALK.format(f' AND passed < {rank}')} SELECT bucket AS b FROM walk ORDER BY i DESC LIMIT 1"
        plain = (
            "SELECT b.value AS b FROM json_each(histogram, '$[0]') b WHERE (SELECT sum(c.value) FROM "
            f"json_each(histogram, '$[1]') c WHERE c.key <= b.key) >= {rank} ORDER BY b.key LIMIT 1"
        )
        middle = f"SELECT ({_LOW} + ({_WIDTH} - 1) / 2.0) / 1e3 FROM"
        name = f"p{percent:g}_ms".replace(".", "_")
        columns.append(f"iif(histogram LIKE '[%', ({middle} ({plain})), ({middle} ({packed}))) AS {name}")
    listed = ", ".join(columns)
    return f"CREATE VIEW latency_percentile AS SELECT frame, at, kind, count, {listed} FROM latency l WHERE count"


_FINDINGS = """CREATE VIEW findings AS SELECT f.frame, r.at, f.position, c.bottleneck, c.host, f.since_s, f.held_s,
  c.confidence, c.advice FROM finding f JOIN claim c ON c.id = f.claim JOIN frame r ON r.id = f.frame"""
_VERDICT = """CREATE VIEW verdict AS SELECT frame, at, bottleneck, host, since_s, held_s, confidence, advice
  FROM findings WHERE position = 0"""
_VERDICT_PERIOD = """CREATE VIEW verdict_period AS SELECT MIN(at) AS from_s, MAX(at) AS to_s, bottleneck, host,
  COUNT(*) AS intervals FROM (SELECT *, SUM(changed) OVER (ORDER BY frame) AS period FROM (
    SELECT *, bottleneck IS NOT LAG(bottleneck) OVER w OR host IS NOT LAG(host) OVER w AS changed
    FROM verdict WINDOW w AS (ORDER BY frame))) GROUP BY period"""
_EVIDENCE = """CREATE VIEW evidence AS SELECT f.frame, r.at, f.position, c.bottleneck, k.metric, k.host, v.value,
  k.threshold, k.unit, k.below, k.source
  FROM finding f JOIN frame r ON r.id = f.frame JOIN claim c ON c.id = f.claim
  JOIN json_each(c.criteria) n JOIN json_each(f.evidence) v ON v.key = n.key JOIN criterion k ON k.id = n.value"""
_MARKS = """CREATE VIEW marks AS SELECT m.frame, f.at, f.wall, m.text FROM mark m JOIN frame f ON f.id = m.frame"""
_MACHINES = """CREATE VIEW machines AS SELECT h.name AS host, h.role, m.hostname, m.source, m.system, m.kernel, m.cores,
  m.memory_kb, MIN(s.frame) AS first_frame, MAX(s.frame) AS last_frame
  FROM sample s JOIN host h ON h.id = s.host_id JOIN machine m ON m.id = s.machine WHERE s.back = 0
  GROUP BY s.host_id, s.machine"""
_OUTCOME = """CREATE VIEW outcome AS SELECT s.frame, s.at, s.host, json_extract(c.value, '$[0]') AS collector,
  json_extract(c.value, '$[1]') AS state, json_extract(c.value, '$[2]') AS reason, d.duration_s
  FROM sample s JOIN outcomes o ON o.id = s.outcomes JOIN json_each(o.collectors) c
  JOIN ({durations}) d ON d.frame = s.frame AND d.host_id = s.host_id AND d.thing = c.key WHERE s.back = 0"""

_NAMED = {
    schema.STATED: ("CAST(t.name AS TEXT) AS part", "thing"),
    schema.ENGINE_WORKER: ("CAST(t.name AS TEXT) AS name, CAST(t.detail AS TEXT) AS host", "thing"),
    schema.CORE: ("CAST(t.name AS INTEGER) AS id", "thing"),
    schema.LISTENER: ("CAST(t.name AS INTEGER) AS port", "thing"),
    schema.DISK: ("CAST(t.name AS TEXT) AS name", "thing"),
    schema.NETWORK: ("CAST(t.name AS TEXT) AS name", "thing"),
    schema.APACHE: ("CAST(t.name AS TEXT) AS url", "thing"),
    schema.FPM: ("CAST(t.name AS TEXT) AS pool", "thing"),
    schema.HAPROXY: ("CAST(t.name AS TEXT) AS proxy, CAST(t.detail AS TEXT) AS server", "thing"),
    schema.PROCESS: ("t.pid, CAST(t.name AS TEXT) AS name, t.process_group, t.started_ticks", "task"),
}
"""How things of a part are called, and where their names are."""


def views() -> Iterator[str]:
    """What makes the views of an empty recording, each after those it needs."""
    yield _TEXTS
    yield (
        f"CREATE VIEW sample AS SELECT d.frame, d.at, h.name AS host, h.role, d.place, d.fresh, {_text('d.problem')} "
        "AS problem, d.back, d.frame - d.previous AS previous, d.uptime_s, d.took_s, d.machine, d.outcomes, "
        f"h.id AS host_id FROM ({_taken_apart(schema.SAMPLE)}) d JOIN host h ON h.id = d.thing"
    )
    for part in (schema.LOAD, schema.FAILURES, schema.GENERATOR):
        columns = ", ".join(_shown(column) for column in part.columns)
        yield f"CREATE VIEW {part.name} AS SELECT d.frame, d.at, {columns} FROM ({_taken_apart(part)}) d"
    for part in (schema.STATED, schema.ENGINE_WORKER):
        names, table = _NAMED[part]
        columns = ", ".join(_shown(column) for column in part.columns)
        yield (
            f"CREATE VIEW {part.name} AS SELECT d.frame, d.at, {names}, {columns} "
            f"FROM ({_taken_apart(part)}) d JOIN {table} t ON t.id = d.thing"
        )
    yield (
        "CREATE VIEW worker AS SELECT d.frame, d.at, d.thing + 1 AS number, d.cpu_s "
        f"FROM ({_taken_apart(schema.WORKER)}) d"
    )
    for part in schema.SAMPLE_PARTS:
        if part is not schema.OUTCOME:
            yield _part_view(part)
    yield _OUTCOME.format(durations=_taken_apart(schema.OUTCOME))
    yield from (
        _LATENCIES,
        _BUCKETS,
        _percentiles(),
        _FINDINGS,
        _VERDICT,
        _VERDICT_PERIOD,
        _EVIDENCE,
        _MARKS,
        _MACHINES,
    )
    yield from rate_views()


def _part_view(part: Part) -> str:
    names, table = _NAMED.get(part, ("", ""))
    columns = [names] if names else []
    columns += [_shown(column) for column in part.columns]
    joined = f" JOIN {table} t ON t.id = d.thing" if table else ""
    return (
        f"CREATE VIEW {part.name} AS SELECT d.frame, d.at, s.host, {', '.join(columns)}, "
        "s.fresh, s.previous, s.uptime_s AS host_uptime_s "
        f"FROM ({_taken_apart(part)}) d "
        f"JOIN sample s ON s.frame = d.frame AND s.host_id = d.host_id AND s.back = 0{joined}"
    )


def _name(column: Column) -> str:
    # The load and Apache's page are dated by clocks of their own, which are not the time of the frame.
    return "clock_s" if column.name == "at" else column.name


def _shown(column: Column) -> str:
    name = f"d.{_name(column)}"
    return f"{_text(name)} AS {_name(column)}" if column.kind is Kind.TEXT else name


def _text(number: str) -> str:
    return f"(SELECT text FROM texts WHERE texts.id = {number})"


def _taken_apart(part: Part) -> str:
    """A row for each thing and frame in which it was there: frame, at, host_id, thing, place and the part's columns."""
    names = ("place", "missing", *part.names)
    every = range(len(names))
    text = _LENGTHENED if part.sparse else "{0}"
    columns = ",".join(f"{name}_from f{n},{text.format(name)} c{n}" for n, name in enumerate(names))
    block = f"b.id/{_STRETCH}*{BLOCK}"
    kinds = (Kind.WHOLE, Kind.WHOLE, *(column.kind for column in part.columns))
    sums = ",".join(f"{(_REAL if kinds[n] is Kind.REAL else _SUM).format(n)} v{n}" for n in every)
    values = ", ".join(
        f"iif(v1>>{n}&1, NULL, v{n + 2}) AS {_name(column)}" if column.nullable else f"v{n + 2} AS {_name(column)}"
        for n, column in enumerate(part.columns)
    )
    # Without LIMIT -1, SQLite would make the columns anew for every frame.
    lines = f"SELECT id, {columns} FROM {part.table} LIMIT -1"
    things = f"id/{THINGS}%{HOSTS} AS host_id, id%{THINGS} AS thing, v0 AS place"
    return f"""SELECT frame, time AS at, {things}, {values} FROM
  (SELECT id, frame, time, {sums} FROM
  (SELECT *, {",".join(_NUMBER.format(n) for n in every)} FROM
  (SELECT *, {",".join(_POINT.format(n) for n in every)} FROM
  (SELECT b.*, f.id AS frame, f.at AS time, (f.id-1)%{BLOCK} AS i FROM ({lines}) b
  JOIN frame f ON f.id > {block} AND f.id <= {block}+{BLOCK})))
  WINDOW w AS (PARTITION BY id ORDER BY i)) WHERE v0 > 0"""
