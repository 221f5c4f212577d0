"""Live metrics, read by the parser of Prometheus' own client."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client.openmetrics import parser

from loadtop.diagnosis.breakdown import Breakdown, Part, Share
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import LOAD_METRICS, TIMES_OF_REQUESTS
from loadtop.reports.openmetrics import openmetrics
from loadtop.servers.registry import HOST_METRICS
from tests.unit.known import known
from tests.unit.recording.made import moments, with_frame

DASHBOARD = Path(__file__).parents[3] / "docs" / "grafana.json"
HOSTILE = 'a"b\\c\nd\x1b[31m\u202e # EOF'


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Values by name and labels; no name may come twice."""
    read: Any = parser
    families = list(read.text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    found = [
        ((each.name, frozenset(each.labels.items())), each.value) for family in families for each in family.samples
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """One with response times."""
    return next(each for each in moments(60) if _read("p50", each) is not None)


def test_all_that_was_measured_is_there(snapshot: Snapshot) -> None:
    found = samples(openmetrics(snapshot, "http://web1/"))
    load = known(snapshot.load)
    assert found["loadtop_load_requests_total", frozenset()] == load.requests
    for host in snapshot.measured.hosts:
        for metric in HOST_METRICS:
            place = f"loadtop_{metric.name.replace('.', '_')}", frozenset({("host", host.name)})
            assert found.get(place) == metric.read(host)
    times = {dict(labels)["percentile"] for name, labels in found if name == "loadtop_load_latency_ms"}
    measured = [name for name in TIMES_OF_REQUESTS if _read(name, snapshot) is not None]
    assert len(times) == len(measured) > 5
    verdict = snapshot.diagnosis.verdict
    labels = frozenset({("bottleneck", verdict.bottleneck), ("host", verdict.host or "")})
    assert found["loadtop_verdict", labels] == 1


def _read(name: str, snapshot: Snapshot) -> float | None:
    return next(metric for metric in LOAD_METRICS if metric.name == name).read(snapshot.measured)


def test_before_the_first_interval_there_is_the_program() -> None:
    assert [name for name, _ in samples(openmetrics(None, ""))] == ["loadtop_info"]


def test_a_hostile_name_stays_in_its_label(snapshot: Snapshot) -> None:
    verdict = replace(snapshot.diagnosis.verdict, host=HOSTILE)
    found = samples(openmetrics(replace(snapshot, diagnosis=replace(snapshot.diagnosis, verdict=verdict)), HOSTILE))
    ((_, labels),) = [place for place in found if place[0] == "loadtop_verdict"]
    assert dict(labels)["host"].startswith('a"b')
    assert all(text.isprintable() for _, labels in found for _, text in labels)


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    snapshot = next(each for each in moments(60) if _read("rps", each) is not None)
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    load = replace(known(snapshot.load), rate=50.0)
    shares = Breakdown(100, 10.0, (Share(Part.CPU, "web1", "apache", 8.0),))
    text = openmetrics(replace(with_frame(snapshot, load=load), breakdown=shares), "http://web1/")
    found = samples(text)
    parts = {dict(labels)["part"]: value for (name, labels), value in found.items() if name == "loadtop_breakdown_ms"}
    assert parts == {"cpu": 8.0, "unexplained": 2.0}
    names = {name for name, _ in found} | {f"loadtop_{each.name.replace('.', '_')}" for each in HOST_METRICS}
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked = {name for expression in targets for name in re.findall(r"loadtop_\w+", expression)}
    assert asked - names == set()
    assert {"loadtop_verdict", "loadtop_breakdown_ms", "loadtop_load_latency_ms", "loadtop_cpu_user"} <= asked
