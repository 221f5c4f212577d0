"""Reports made to be read elsewhere: nothing in a name can become markup, nothing that was not measured is a number."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from loadtop.analysis.totals.settings import LOAD, Setting, Settings
from loadtop.i18n import verbatim
from loadtop.pipeline.snapshot import Snapshot
from loadtop.reports.curves import POINTS, Curve, Curves
from loadtop.reports.html import html
from loadtop.reports.markdown import markdown
from loadtop.reports.story import Story

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
    frame = replace(frame, load=load, marks=(HOSTILE,) if frame.marks else ())
    verdict = replace(snapshot.diagnosis.verdict, host=HOSTILE, advice=verbatim(HOSTILE))
    measured = replace(snapshot.measured, frame=frame, hosts=hosts)
    return Snapshot(measured, replace(snapshot.diagnosis, verdict=verdict))


@pytest.fixture(scope="module")
def snapshots(made_moments: Callable[[int], list[Snapshot]]) -> list[Snapshot]:
    return made_moments(60)


@pytest.fixture(scope="module")
def story(snapshots: list[Snapshot]) -> Story:
    story = Story("http://web1/", ("-c", "8", "http://web1/"))
    for snapshot in snapshots:
        story.add(snapshot)
    return story


@pytest.fixture(scope="module")
def hostile(snapshots: list[Snapshot]) -> Story:
    story = Story(f"http://web1/{HOSTILE}", ("-c", "8", HOSTILE))
    for snapshot in snapshots:
        story.add(_hostile(snapshot))
    return story


def test_page_is_whole_and_alone(story: Story) -> None:
    text = html(story)
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.seen.count("svg") >= 5
    assert not {"img", "link", "iframe", "object"} & set(page.seen)
    assert not [name for name, _ in page.attributes if name in ("src", "href") or name.startswith("on")]
    assert "default-src 'none'" in text


def test_page_holds_what_was_measured(story: Story) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html(story))
    assert found
    data = json.loads(found[1])
    assert len(data["times"]) == 60
    assert data["curves"]["0-rps"][0] is None  # there is no rate before the second sample
    assert {len(values) for values in data["curves"].values()} == {60}
    assert [mark["text"] for mark in data["marks"]] == ["first", "second \u2713"] * 2
    figures = story.summary.as_json()
    assert [span["name"].split()[0] for span in data["spans"]] == [span["bottleneck"] for span in figures["timeline"]]


def test_hostile_names_stay_names_in_the_page(hostile: Story) -> None:
    text = html(hostile)
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "img" not in page.seen
    assert page.seen.count("script") == 2
    assert not set(text) & {"\x1b", "\u202e"}


def test_hostile_names_stay_names_in_markdown(hostile: Story) -> None:
    text = markdown(hostile)
    assert not set(text) & {"\x1b", "\u202e"}
    for line in text.splitlines():
        assert not line.startswith("# x")
        if not line.startswith("    "):  # code, in which nothing is markup
            assert not re.search(r"(?<!\\)<|(?<!\\)`\\x1b", line)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    rules = {line.count("|") for line in tables if re.fullmatch(r"[|\-: ]+", line)}
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == rules


def test_markdown_says_what_the_summary_says(story: Story) -> None:
    text, figures = markdown(story), story.summary.as_json()
    assert text.startswith("# Load test of http://web1/\n")
    assert f"`{figures['verdict']['bottleneck']}`" in text
    assert "## Steps" in text
    assert "    loadtop -c 8 http://web1/" in text


def test_settings_are_those_seen_last(snapshots: list[Snapshot]) -> None:
    settings = Settings()
    for snapshot in snapshots:
        settings.add(snapshot)
    found = settings.all()
    assert Setting(LOAD, "rate", "8, 12.5/s") in found
    assert Setting("web1", "cores", "2") in found
    assert Setting("web1", "MPM", "prefork") in found
    assert Setting("web1", "worker slots", "100") in found


def test_curves_stay_small(snapshots: list[Snapshot]) -> None:
    curves = Curves()
    for number in range(2 * POINTS + 3):
        snapshot = snapshots[2]
        frame = replace(snapshot.measured.frame, at=float(number))
        curves.add(Snapshot(replace(snapshot.measured, frame=frame), snapshot.diagnosis))
    assert POINTS / 2 < len(curves.times) <= POINTS
    assert curves.intervals == 4
    assert curves.times == sorted(curves.times)
    assert len(curves.of("", "p99")) == len(curves.times)


def test_points_that_become_one_keep_mean_and_peak() -> None:
    mean, peak = Curve(), Curve(peak=True)
    for curve in (mean, peak):
        for point, value in enumerate((1.0, 3.0, None, 5.0, None)):
            curve.put(point, value)
        curve.halve()
    assert mean.values(3) == [2.0, 5.0, None]
    assert peak.values(3) == [3.0, 5.0, None]


def test_reports_are_in_the_language_spoken(story: Story, japanese: None) -> None:  # noqa: ARG001 (the language)
    figures = story.summary.as_json()
    page, text = html(story), markdown(story)
    assert '<html lang="ja">' in page
    assert text.startswith("# http://web1/ の負荷試験\n")
    for report in (page, text):
        assert "応答時間 (ms)" in report
        assert str(figures["load"]["requests"]) in report
    heads = [line for line in text.splitlines() if line.startswith("#")]
    heads += re.findall(r"<h[12]>(.*?)</h[12]>", page) + re.findall(r"<figcaption><b>(.*?)</b>", page)
    english = [head for head in heads if re.search(r"[A-Za-z]{3,} [A-Za-z]{3,}", head.partition("://")[0])]
    assert len(heads) > 12
    assert english == []
