"""Reports made to be read elsewhere: nothing in a name can become markup, nothing that was not measured is a number."""

import json
import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from loadtop.analysis.totals import series as series_module
from loadtop.analysis.totals.series import SeriesTotals
from loadtop.analysis.totals.settings import LOAD, Setting, Settings
from loadtop.analysis.totals.totals import MOST_MARKS, RunResult, Totals
from loadtop.diagnosis.breakdown import Breakdown, Part, Share
from loadtop.i18n import figure, verbatim
from loadtop.model import Latencies, Profile
from loadtop.model.histogram import distribution
from loadtop.pipeline.snapshot import Snapshot
from loadtop.reports.chart import LEFT, RIGHT, Axis, Chart, Curve, chart_svg
from loadtop.reports.html import html
from loadtop.reports.tables import markdown, tables
from loadtop.reports.text import report
from tests.unit.known import known
from tests.unit.recording.made import added_up, moments, with_frame

HOSTILE = "</script><img src=x onerror=alert(1)>|`\x1b[31m\n# x\u202e"


class Page(HTMLParser):
    """Elements that are still open, how often each was seen, and every attribute."""

    VOID = frozenset({"meta", "br", "img", "line", "rect", "path", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def _hostile(snapshot: Snapshot) -> Snapshot:
    """The moment with a hostile name in every place that comes from elsewhere."""
    frame = snapshot.measured.frame
    load = frame.load
    if load is not None and load.server is not None:
        load = replace(load, server=replace(load.server, software=HOSTILE, path=HOSTILE), message=HOSTILE)
    hosts = tuple(replace(host, state=replace(host.state, name=HOSTILE)) for host in snapshot.measured.hosts[:1])
    profiles = tuple(Profile(HOSTILE, HOSTILE, ((f"{HOSTILE};{HOSTILE}", 3),)) for _ in frame.profiles)
    frame = replace(frame, load=load, marks=(HOSTILE,) if frame.marks else (), profiles=profiles)
    verdict = replace(snapshot.diagnosis.verdict, host=HOSTILE, advice=verbatim(HOSTILE))
    measured = replace(snapshot.measured, frame=frame, hosts=hosts)
    return Snapshot(measured, replace(snapshot.diagnosis, verdict=verdict))


@pytest.fixture(scope="module")
def snapshots() -> list[Snapshot]:
    return moments(60)


@pytest.fixture(scope="module")
def result(snapshots: list[Snapshot]) -> RunResult:
    return added_up(snapshots, command_line=("-c", "8", "http://web1/"))


@pytest.fixture(scope="module")
def hostile(snapshots: list[Snapshot]) -> RunResult:
    return added_up(map(_hostile, snapshots), f"http://web1/{HOSTILE}", ("-c", "8", HOSTILE))


def test_page_is_whole_and_alone(result: RunResult) -> None:
    text = html(result)
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.seen.count("svg") >= 5
    assert not {"img", "link", "iframe", "object"} & set(page.seen)
    assert not [name for name, _ in page.attributes if name in ("src", "href") or name.startswith("on")]
    assert "default-src 'none'" in text


def test_an_axis_is_as_wide_as_the_chart() -> None:
    assert [Axis((), 10.0).x(at) for at in (0.0, 5.0, 10.0)] == [LEFT, (LEFT + RIGHT) / 2, RIGHT]
    assert Axis((), 0.0).x(0.0) == LEFT


def test_page_holds_what_was_measured(result: RunResult) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html(result))
    assert found
    data = json.loads(found[1])
    assert len(data["times"]) == 60
    assert data["curves"]["0-rps"][0] is None  # there is no rate before the second sample
    assert {len(values) for values in data["curves"].values()} == {60}
    assert [mark["text"] for mark in data["marks"]] == ["first", "second \u2713"] * 2
    figures = result.summary
    assert [span["name"].split()[0] for span in data["spans"]] == [span["bottleneck"] for span in figures["timeline"]]


def test_hostile_names_stay_names_in_the_page(hostile: RunResult) -> None:
    text = html(hostile)
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "img" not in page.seen
    assert page.seen.count("script") == 2
    assert not set(text) & {"\x1b", "\u202e"}


def test_hostile_names_stay_names_in_markdown(hostile: RunResult) -> None:
    text = markdown(hostile)
    assert not set(text) & {"\x1b", "\u202e"}
    for line in text.splitlines():
        assert not line.startswith("# x")
        if not line.startswith("    "):  # code, in which nothing is markup
            assert not re.search(r"(?<!\\)<|(?<!\\)`\\x1b", line)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    rules = {line.count("|") for line in tables if re.fullmatch(r"[|\-: ]+", line)}
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == rules


def test_markdown_matches_the_summary(result: RunResult) -> None:
    text, figures = markdown(result), result.summary
    assert text.startswith("# Load test of http://web1/\n")
    assert f"`{figures['limits'][0]['bottleneck']}`" in text
    assert "## Steps" in text
    assert "    loadtop -c 8 http://web1/" in text


@pytest.mark.parametrize(
    ("concurrency", "rate", "words"),
    [(1, None, "1 connection"), (1200, None, "1,200 connections"), (8, 50.0, "50 requests/s"), (None, None, "")],
)
def test_how_much_load_there_was(result: RunResult, concurrency: int | None, rate: float | None, words: str) -> None:
    """Engines need not tell it."""
    load = {**result.summary["load"], "concurrency": concurrency, "rate": rate}
    found = replace(result, summary={**result.summary, "load": load, "steps": []})
    how = f"closed model, {words}" if words else "closed model"
    assert f", {how}, loadtop" in markdown(found)
    assert f" · {how.replace(', ', ' · ')} · " in html(found)
    assert f"  {how}  " in report(found)


def test_machines_fill_rows_not_columns(result: RunResult) -> None:
    """A table with a column for each thing that is measured was wider than the page."""
    (table,) = [each for each in tables(result) if each.title == "Hosts"]
    assert len(table.head) == 3
    machine, measured, value = zip(*table.rows, strict=True)
    assert len(set(machine)) == len(result.summary["hosts"])
    assert {"% idle", "MB available", "% swap used"} <= set(measured)
    assert "-" not in value
    assert f"<td>{machine[0]}</td><td>% idle</td>" in html(result)


def test_settings_are_those_seen_last(snapshots: list[Snapshot]) -> None:
    settings = Settings()
    for snapshot in snapshots:
        settings.add(snapshot)
    found = settings.all()
    assert Setting(LOAD, "rate", "8, 12.5/s") in found
    assert Setting("web1", "cores", "2") in found
    assert Setting("web1", "MPM", "prefork") in found
    assert Setting("web1", "worker slots", "100") in found


def test_points_that_become_one_keep_mean_and_peak(snapshots: list[Snapshot], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_module, "POINTS", 4)
    series, snapshot = SeriesTotals(), snapshots[2]
    load = known(snapshot.load)
    for number, milliseconds in enumerate((1, 1, 3, None, 5, None)):
        times = None if milliseconds is None else Latencies(distribution([1000 * milliseconds]))
        series.add(with_frame(snapshot, at=float(number), load=replace(load, latencies=times)))
    data = series.series
    assert data.counts == [1, 2, 2, 1]
    assert data.of(LOAD, "p50") == [1.0, 2.0, 5.0, None]
    assert data.of(LOAD, "p50_peak") == [1.0, 3.0, 5.0, None]


def test_the_parts_of_the_time_of_a_request_are_areas_with_their_names(snapshots: list[Snapshot]) -> None:
    """The largest at the bottom; the rest is reported apart from what was not listed. All of it is in words as well."""
    totals = Totals("http://web1/")
    for number, snapshot in enumerate(snapshots):
        asked = Share(Part.DEPENDENCY, "web1", "10.0.0.5:3306", 20.0 + number % 3, HOSTILE)
        small = [Share(Part.CPU, "web1", f"group {each}", 2.0) for each in range(6)]
        totals.add(replace(snapshot, breakdown=Breakdown(50, 60.0, (asked, *small))))
    page = html(totals.result())
    Page().feed(page)
    assert HOSTILE not in page
    (figure,) = re.findall(r"<figure><figcaption><b>Where the response time goes, ms.*?</figure>", page)
    keys = re.findall(r'class="key"[^>]*>(.*?) <output', figure)
    assert (keys[0][:9], keys[-2:], len(keys)) == ("calls to ", ["other parts", "unexplained"], 7)
    assert figure.count('class="area"') == 7
    assert re.search('aria-label="Where the response time goes, ms: calls to .*:3306 21 ms, .*on CPU', figure)
    assert "10.0.0.5:3306</text>" in figure


def test_reports_are_in_the_language_spoken(result: RunResult, japanese: None) -> None:  # noqa: ARG001 (the language)
    figures = result.summary
    page, text = html(result), markdown(result)
    assert '<html lang="ja">' in page
    assert text.startswith("# http://web1/ の負荷試験\n")
    for each in (page, text):
        assert "応答時間 (ms)" in each
        assert figure(figures["load"]["requests"]) in each
    heads = [line for line in text.splitlines() if line.startswith("#")]
    heads += re.findall(r"<h[12]>(.*?)</h[12]>", page) + re.findall(r"<figcaption><b>(.*?)</b>", page)
    english = [head for head in heads if re.search(r"[A-Za-z]{3,} [A-Za-z]{3,}", head.partition("://")[0])]
    assert len(heads) > 12
    assert english == []


def test_an_axis_has_few_ticks_however_long_a_test_claims_to_be() -> None:
    chart = Chart("cpu", "%", (Curve("0-cpu", "cpu", (1.0, 2.0), "a"),))
    for end in (0.0, 1.0, 12.5, 86_400.0, 1e6, 1e9):
        assert chart_svg(chart, Axis((0.0, end), end)).count("<text") <= 3 + 13, end


def test_thousands_of_marks_make_no_page_that_is_too_large(snapshots: list[Snapshot]) -> None:
    """A frame of 64 kB, which a recording that someone made can repeat, has 32,000 of them."""
    result = added_up(with_frame(snapshot, marks=("m",) * 8000) for snapshot in snapshots[:3])
    assert len(result.summary["marks"]) == MOST_MARKS
    assert len(html(result)) < 5_000_000
