"""What single panels draw: pure functions of a view, a width and a number of rows, or parts of one screen."""

from collections.abc import Callable
from itertools import cycle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.model import Failures, LoadState, Memory, Role
from loadtop.model.server import Blocker
from loadtop.rates.records import GroupRates
from loadtop.servers.nginx.kind import NGINX_CONNECTIONS
from tests.tui.scenes import BUSY, HEADROOM, Story
from tests.tui.stage import Stage, columns_end_together, speaking, text_of
from tests.tui.stories import view_after, view_of, with_load
from tui.drawing.appearance import UNICODE, Appearance, Glyphs
from tui.drawing.line import Span, length
from tui.drawing.verdicts import sentence
from tui.panels.apache import ApachePanel, counted, legend, slots
from tui.panels.haproxy import HaproxyPanel
from tui.panels.header import compose
from tui.panels.load import LoadPanel, WorkersPanel
from tui.panels.machine import MemoryPanel
from tui.panels.php_fpm import FpmPanel
from tui.panels.processes import COLUMNS, ORDERS, ProcessPanel
from tui.panels.server import blocking
from tui.panels.verdict import VerdictPanel
from tui.screens.help import HelpScreen
from tui.state.view import History, Phase, View

StageWith = Callable[[Glyphs], Stage]
BOARDS = st.text(alphabet="WRKDCLGSI_.x", min_size=1, max_size=600)
BROKEN = Failures(length=8270, timeout=12)


def pool(group: str, role: Role) -> GroupRates:
    return GroupRates(group, role, 4, 0, 0, 4, 1.0, 9000, None)


@given(st.integers(24, 120), st.sampled_from(["swap", "two-hosts", "headroom"]))
def test_columns_of_processes_are_aligned(appearance: Appearance, cells: int, name: str) -> None:
    lines = ProcessPanel(appearance).content(view_of(name), cells, 12)
    shown = [column for column in COLUMNS if cells >= column.least and column.name not in ("", "s", "group", "name")]
    columns_end_together(lines, [column.name for column in shown])
    servers = [text_of(line) for line in lines[1:] if "apache2" in text_of(line)]
    assert {line.index(" apache2") for line in servers} == {text_of(lines[0]).index(" name")}
    assert all(len(line) <= cells for line in servers)


def test_waits_for_a_processor_have_a_column_where_no_name_is_cut_for_it(appearance: Appearance) -> None:
    def lines(cells: int) -> list[str]:
        return [text_of(line) for line in ProcessPanel(appearance).content(view_of("swap"), cells, 60)]

    assert "wait%" not in lines(76)[0]
    head, *rows = lines(77)
    end = head.index("wait%") + 5
    assert {row[:end].split()[-1] for row in rows if "apache2" in row} == {"0", "3", "6", "9"}
    assert {row[:end].split()[-1] for row in rows if "mariadbd" in row} == {"-"}


@pytest.mark.parametrize("column", ORDERS)
@pytest.mark.parametrize("cells", [37, 63, 76])
def test_names_of_processes_are_whole_whatever_orders_them(appearance: Appearance, cells: int, column: str) -> None:
    panel = ProcessPanel(appearance)
    panel.order_by(column)
    head, *rows = map(text_of, panel.content(view_of("swap"), cells, 60))
    assert column in head
    assert max(length([Span(row.rstrip())]) for row in rows if "apache2" in row) <= cells


@pytest.mark.parametrize("column", ORDERS)
def test_processes_of_a_group_that_this_version_does_not_know(
    appearance: Appearance, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = view_of("swap")
    assert view.past.rates is not None
    assert view.past.rates.processes is not None
    groups = cycle(("postgresql", "made-up-group", "e\u0301", "other"))
    known = [replace(each, process=replace(each.process, group=next(groups))) for each in view.past.rates.processes]
    monkeypatch.setattr(view.past, "rates", replace(view.past.rates, processes=tuple(known)))
    panel = ProcessPanel(appearance)
    panel.order_by(column)
    head, *rows = map(text_of, panel.content(view, 120, 40))
    end, name = head.index("group") + 10, head.index("name")
    assert {row[end:name].strip() for row in rows} == {""}
    assert {row[end - 10 : end].strip() for row in rows} == {"postgresql", "made-up-g…", "é", "other"}


@given(st.integers(24, 120))
def test_columns_of_servers_are_aligned(appearance: Appearance, cells: int) -> None:
    view = view_of("servers")
    columns_end_together(FpmPanel(appearance).content(view, cells, 3), [" busy", "of", " queue"])
    lines = HaproxyPanel(appearance).content(view, cells, 5)
    columns = [" queue", *([" sess"] if cells >= 29 else []), *([" of"] if cells >= 35 else []), "/s"]
    columns_end_together(lines, columns)
    assert all(length(line) <= cells for line in lines)
    figures = ["7", *(["10"] if cells >= 29 else []), *(["200"] if cells >= 35 else []), "70.0"]
    assert text_of(lines[1]).split()[1:] == figures


@given(st.integers(26, 120))
def test_columns_of_workers_are_aligned(appearance: Appearance, cells: int) -> None:
    lines = WorkersPanel(appearance).content(view_of("workers"), cells, 5)
    columns_end_together(lines, ["users", "cpu%", *(["rss"] if cells >= 33 else [])])
    assert all(length(line) <= cells for line in lines)
    assert len({text_of(line)[: text_of(lines[0]).index(" state")].rstrip() for line in lines}) >= 4


@given(BOARDS, st.integers(12, 80), st.integers(1, 6))
@example("CDDDGGGIKKKLRSW_.", 12, 1)
def test_slots_fit_and_no_letter_vanishes(board: str, cells: int, rows: int) -> None:
    made = slots(board, cells, rows)
    assert len(made) <= rows
    assert all(length(spans) <= cells for spans in made)
    drawn = "".join(text_of(spans) for spans in made)
    assert set(drawn) == set(board)
    assert len(drawn) == min(len(board), cells * rows)


def test_busy_slots_come_first() -> None:
    assert [text_of(spans) for spans in slots("_W.KW_", 4, 2)] == ["WWK_", "_."]
    assert counted("_W.KW_") == [("W", 2), ("K", 1), ("_", 2), (".", 1)]


def test_many_slots_are_in_proportion() -> None:
    (row,) = slots("W" * 300 + "_" * 100, 40, 1)
    assert text_of(row) == "W" * 30 + "_" * 10


@given(BOARDS, st.integers(20, 80), st.integers(1, 4))
def test_legend_items_are_whole(board: str, cells: int, rows: int) -> None:
    made = legend(board, cells, rows)
    assert len(made) <= rows
    assert all(length(spans) <= cells for spans in made)


def test_legend_counts() -> None:
    assert text_of(legend("WWK_", 60, 1)[0]) == "W 2 sending  K 1 keep-alive  _ 1 waiting"
    assert [text_of(spans) for spans in legend("WWK_", 24, 2)] == ["W 2 sending", "K 1 keep-alive"]


def last_line(appearance: Appearance, cells: int, failures: Failures, verdict: str = "none", message: str = "") -> str:
    """The last line of a load of which some failed."""
    snapshot = with_load(Story().play(HEADROOM, 2)[-1], failures=failures, non_2xx=8270, message=message)
    finding = replace(snapshot.diagnosis.verdict, bottleneck=verdict)
    snapshot = replace(snapshot, diagnosis=replace(snapshot.diagnosis, verdict=finding))
    view = View("", "", 1.0, History(1.0), snapshot, phase=Phase.LIVE)
    return text_of(LoadPanel(appearance).content(view, cells, 4)[-1])


def test_no_class_of_failures_is_cut(appearance: Appearance) -> None:
    for cells in range(20, 60):
        said = last_line(appearance, cells, BROKEN)
        assert len(said) <= cells or cells < 30
        assert said.split("8,270")[-1].strip() in ("", "length +1", "length timeout", "timeout 12")


def test_the_classes_lose_their_numbers_first(appearance: Appearance) -> None:
    one = replace(BROKEN, timeout=0)
    assert last_line(appearance, 50, one).endswith("not 2xx 8,270  length 8,270")
    assert last_line(appearance, 36, one).endswith("not 2xx 8,270  length")
    assert last_line(appearance, 50, BROKEN).endswith("  length timeout")


def test_a_message_in_the_verdict_keeps_the_figures(appearance: Appearance) -> None:
    assert "trouble ahead" in last_line(appearance, 40, BROKEN, message="trouble ahead")
    assert "failed" in last_line(appearance, 40, BROKEN, verdict="errors", message="trouble ahead")


def test_a_verdict_of_little_confidence_is_probable() -> None:
    verdict = Story().play(HEADROOM, 4)[-1].diagnosis.verdict
    said = [text_of(sentence(replace(verdict, confidence=share))) for share in (0.5, 0.49)]
    assert said == ["HEADROOM: no limit reached", "HEADROOM: probably no limit reached"]


def test_the_last_screen_names_each_limit_with_its_load(appearance: Appearance) -> None:
    story = Story()
    snapshots = story.play(replace(HEADROOM, concurrency=8), 30) + story.play(replace(BUSY, concurrency=20), 7)
    view = view_after(snapshots + story.play(replace(BUSY, concurrency=20, state=LoadState.DONE), 1))
    first, *_, last = [text_of(line) for line in VerdictPanel(appearance).content(view, 76, 5)]
    assert first == "CPU is the limit on web1 at 20 connections for 8 s"
    assert last == "CPU on web1 at 20 connections, for 8 s; none at 8 connections"
    *_, before, last = [text_of(line) for line in VerdictPanel(appearance).content(view, 40, 3)]
    assert (before, last) == ("CPU on web1 at 20 connections, for 8 s", "none at 8 connections")


def test_the_last_screen_says_once_that_there_was_no_limit(appearance: Appearance) -> None:
    story = Story()
    snapshots = story.play(replace(HEADROOM, concurrency=8), 6) + story.play(replace(HEADROOM, concurrency=9), 6)
    view = view_after(snapshots + story.play(replace(HEADROOM, concurrency=9, state=LoadState.DONE), 1))
    text = [text_of(line) for line in VerdictPanel(appearance).content(view, 76, 5)]
    assert text[0] == "HEADROOM: no limit reached"
    assert not any(line.startswith("none at") for line in text)


def test_who_blocks_whom_is_told_in_the_readers_language() -> None:
    blocker = Blocker(session=57, blocked=12, idle=True, statement="UPDATE", table="sto\u0300\u0301\u202eck")
    with speaking("ja"):
        assert text_of(blocking(blocker)[1]) == "トランザクション中に待機、最後の文は UPDATE: stò?ck (-)"


def test_a_machine_that_reports_no_memory_is_shown(appearance: Appearance) -> None:
    (*_, last) = Story().play(HEADROOM, 2)
    (host,) = last.measured.hosts
    assert host.sample is not None
    empty = replace(host, state=replace(host.state, sample=replace(host.sample, memory=Memory(0, 0, 0))))
    view = view_after([replace(last, measured=replace(last.measured, hosts=(empty,)))])
    assert text_of(MemoryPanel(appearance).content(view, 38, 4)[0]).split() == ["available", "0", "kB", "used"]


def test_before_the_first_figures_nothing_is_claimed(appearance: Appearance) -> None:
    view = View("", "", 1.0, History(1.0))
    assert text_of(LoadPanel(appearance).content(view, 60, 4)[0]) == "waiting for the first figures"
    snapshot = Story().play(HEADROOM, 1)[0]
    bare = replace(snapshot.diagnosis.verdict, evidence=())
    view = replace(
        view, snapshot=replace(snapshot, diagnosis=replace(snapshot.diagnosis, verdict=bare)), phase=Phase.LIVE
    )
    assert "headroom" not in " ".join(text_of(each) for each in VerdictPanel(appearance).content(view, 60, 4))


@pytest.mark.parametrize(
    ("failures", "said"),
    [(None, "failed    -   not 2xx    -"), (Failures.undivided(5), "failed    5   not 2xx    -  unclassified")],
)
def test_values_that_a_tool_does_not_report_are_not_zero(
    appearance: Appearance, failures: Failures | None, said: str
) -> None:
    view = view_of("ab")
    assert view.snapshot is not None
    view = replace(view, snapshot=with_load(view.snapshot, failures=failures))
    panel = LoadPanel(appearance)
    text = [text_of(line) for line in (panel.title(view), *panel.content(view, 40, 5))]
    assert text[0] == "load by ab"
    assert text[2].strip().startswith("- in flight")
    assert text[-2:] == ["p50    12  p90    34  p99    56 ms", said]


def test_a_panel_of_nginx_in_words(stage_with: StageWith) -> None:
    stage = stage_with(UNICODE)
    assert "NGINX CONNECTIONS  are the limit" in stage.show(view_of("nginx"), (80, 24)).lines[1]
    assert "connections 1,003 of -" in "\n".join(stage.show(view_of("nginx-without-limits"), (120, 40)).lines)
    with speaking("ja"):
        text = "\n".join(stage.show(view_of("nginx"), (80, 24)).lines)
    assert "接続 1,003 / 1,024" in text
    assert "切断/s" in text
    assert "NGINX の接続数" in text


def test_the_help_lists_the_verdict(appearance: Appearance) -> None:
    text = [text_of(line) for line in HelpScreen(appearance, view_of("nginx")).text(116)]
    assert any("X" in line and NGINX_CONNECTIONS.name.replace("-", " ") in line.lower() for line in text)


def test_haproxy_zoomed(stage_with: StageWith) -> None:
    text = "\n".join(stage_with(UNICODE).show(view_of("servers"), (80, 24), "haproxy", zoomed=True).lines)
    assert "app/a-server-with-a-long-name" in text
    assert "   down" in text
    assert "queue, 0 to" in text


@pytest.mark.parametrize("panel", ["fpm", "haproxy", "nginx", "workers"])
def test_absent_servers_have_no_panel(panel: str, stage_with: StageWith) -> None:
    stage = stage_with(UNICODE)
    text = "\n".join(stage.show(view_of("headroom"), (200, 60)).lines)
    assert panel not in stage.cockpit.panel_names
    assert "php-fpm" not in text
    assert "workers of" not in text


@pytest.mark.parametrize(
    ("groups", "wanted"),
    [
        ((), True),  # it says how to enable a status page
        ((pool("uwsgi", Role.APPLICATION),), False),
        ((pool("haproxy", Role.PROXY),), False),
        ((pool("redis", Role.CACHE),), True),
        ((pool("uwsgi", Role.APPLICATION), pool("httpd", Role.WEB)), True),
    ],
)
def test_the_panel_of_apache_gives_way_to_other_servers(
    appearance: Appearance, groups: tuple[GroupRates, ...], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = view_of("headroom")
    assert view.past.rates is not None
    monkeypatch.setattr(view.past, "rates", replace(view.past.rates, groups=groups, servers={}))
    assert ApachePanel(appearance).wanted(view) is wanted


def test_workers_in_trouble_come_first_where_not_all_have_room(stage_with: StageWith) -> None:
    stage, view = stage_with(UNICODE), view_of("many-workers")
    small = "\n".join(stage.show(view, (80, 24)).lines)
    for words in ("17 of 18", "17 workers", "missing", "16 more, busiest 56 % of a core"):
        assert words in small
    large = "\n".join(stage.show(view, (80, 24), "workers", zoomed=True).lines)
    assert view.load is not None
    assert [worker.name for worker in view.load.workers if f"{worker.name} " not in large] == []


def test_each_mark_is_seen_on_the_axis(stage_with: StageWith) -> None:
    """Marks on the time line, without and with a row for notes."""
    story = Story(seconds=600.0)
    snapshots = story.play(HEADROOM, 4) + story.play(replace(HEADROOM, marks=("early",))) + story.play(HEADROOM, 220)
    snapshots += story.play(replace(HEADROOM, marks=("late",))) + story.play(HEADROOM, 2)
    for size in ((80, 24), (120, 40)):
        lines = stage_with(UNICODE).show(view_after(snapshots), size).lines
        assert any("time 1 letter = 10 s" in line for line in lines)
        assert [place for place, cell in enumerate(lines[-2]) if cell == UNICODE.up] == [2, 24]


@pytest.mark.parametrize("title", ["watching", "ab -n 9 http://web1/"])
def test_the_first_line_says_once_that_there_is_no_load(title: str) -> None:
    text = text_of(compose(replace(view_of("watching"), title=title), 80, UNICODE))
    assert text.count("watching") == 1
    assert "00:" in text


@given(st.sampled_from(["bare", "no-apache", "stale", "headroom"]), st.integers(26, 120), st.integers(4, 30))
@settings(max_examples=settings().max_examples * 5 // 10)
def test_content_keeps_to_its_rows(stage_with: StageWith, name: str, cells: int, rows: int) -> None:
    for panel in stage_with(UNICODE).cockpit.panels.values():
        assert len(panel.content(view_of(name), cells, rows)) <= rows, panel.KEY
