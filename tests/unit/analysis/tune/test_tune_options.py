"""``loadtop tune`` on the command line: defaults, bounds, and one clear line for what makes no sense."""

import pytest

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.command_line import parse
from loadtop.cli.options.option import Options

URL = "http://127.0.0.1/"


def tune(*words: str) -> Options:
    return parse(["tune", *words, URL])


def test_defaults_are_bounded() -> None:
    options = tune()
    step = options.plan.steps[0]
    assert (step.concurrency, step.requests) == (1, None)
    assert step.duration_s == 320.0
    assert (options.search.most, options.limits.step_s, options.limits.total_s) == (256, 5.0, 300.0)


def test_the_loads_letters_have_a_meaning_here() -> None:
    options = tune("-c", "64", "-t", "90", "--step-time", "3", "--from", "2", "-k", "-H", "X-Test: 1")
    assert options.plan.keepalive
    assert options.plan.steps[0].concurrency == 2
    assert (options.search.first, options.search.most) == (2, 64)
    assert (options.limits.step_s, options.limits.most_step_s, options.limits.total_s) == (
        3.0,
        12.0,
        90.0,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "100"], "-n is not for tune"),
        (["--rate", "100"], "--rate is not for tune"),
        (["--steps", "1,2"], "--steps is not for tune"),
        (["--warmup", "3"], "--warmup is not for tune"),
        (["--ab"], "--ab is not for tune"),
        (["-w"], "-w is not for tune"),
        (["-g", "times.tsv"], "-g is not for tune"),
        (["--from", "9", "-c", "8"], "--from 9 is above -c 8"),
        (["--finer", "-1"], "--finer must be a whole number of 0 or more, got '-1'"),
        (["--finer", "51"], "--finer 51 is out of range"),
        (["--most-step-time", "1"], "--most-step-time 1 is below --step-time 5"),
        (["-t", "5"], "-t 5 is too short"),
        (["--step-time", "0.5"], "steps of 2 s at most are too short to judge: give --step-time 3 or more"),
    ],
)
def test_what_makes_no_sense_is_said(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tune(*words)


def test_a_shorter_interval_allows_shorter_steps() -> None:
    options = tune("--step-time", "0.5", "--interval", "0.5")
    assert options.limits.most_step_s == 2.0


def test_a_url_is_needed() -> None:
    with pytest.raises(UsageError, match="no URL given"):
        parse(["tune"])


@pytest.mark.parametrize("option", ["--requests", "--rate R", "--steps", "--warmup", "--ab", "--gnuplot", "in flight"])
def test_what_is_refused_is_not_offered(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["tune", "--help"])
    said = capsys.readouterr().out
    assert option not in said
    assert "most connections (default 256)" in said
