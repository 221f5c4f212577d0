"""``loadtop tune`` on the command line: defaults, bounds, and one clear line for what makes no sense."""

import pytest

from loadtop.cli.options.command_line import parse
from loadtop.cli.options.table import Options

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
    assert (options.limits.step_s, options.limits.most_step_s, options.limits.total_s) == (3.0, 12.0, 90.0)


def test_a_shorter_interval_allows_shorter_steps() -> None:
    options = tune("--step-time", "0.5", "--interval", "0.5")
    assert options.limits.most_step_s == 2.0


def test_refused_options_are_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["tune", "--help"])
    said = capsys.readouterr().out
    refused = ("--requests", "--rate R", "--steps", "--warmup", "--ab", "--gnuplot", "in flight")
    assert not [option for option in refused if option in said]
    assert "maximum number of connections (default 256)" in said
