"""What ``profile.sh`` prints, as a profile."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.linux.profile import parse

FIXTURES = Path(__file__).parents[2] / "fixtures" / "profile"


def test_functions_and_their_share() -> None:
    profile = parse("web1", "perf x86_64\n6 httpd;main;md5\n3 httpd;main;write;md5\n1 php-fpm;md5\n")
    assert (profile.host, profile.tool, profile.samples, profile.problem) == ("web1", "perf", 10, "")
    assert profile.hottest() == [("md5 (httpd)", 90.0), ("md5 (php-fpm)", 10.0)]


def test_without_a_profiler() -> None:
    profile = parse("web1", (FIXTURES / "proc.txt").read_text())
    assert profile.tool == "/proc"
    assert [(name, round(pct)) for name, pct in profile.hottest()] == [
        ("user (apache2)", 90),
        ("system (apache2)", 8),
        ("system (mariadbd)", 2),
    ]
    assert [name for name, _ in profile.waited()] == ["futex (mariadbd)", "accept (apache2)", "syscall 999 (apache2)"]


@pytest.mark.parametrize("printed", ["", "perf x86_64\n", "perf x86_64\nnone of\nthese lines 3\n-1 a;b\n5 cut;o"])
def test_nothing_found_has_a_reason(printed: str) -> None:
    profile = parse("web1", printed)
    assert profile.stacks == ()
    assert "no process" in str(profile.problem)
    assert profile.hottest() == []


def test_far_too_much_is_cut() -> None:
    assert len(parse("web1", "perf x86_64\n" + "1 a;b\n" * 100_000).stacks) <= 1001
    ((stack, _),) = parse("web1", f"perf x86_64\n7 {'a;' * 20_000}\n").stacks
    assert len(stack) <= 6000


@given(
    st.lists(st.tuples(st.text("ab;\x1b\u202e ", min_size=1, max_size=9), st.integers(1, 99)), min_size=1, max_size=5)
)
def test_any_names(stacks: list[tuple[str, int]]) -> None:
    profile = parse("web1", "perf x86_64\n" + "".join(f"{count} {stack}\n" for stack, count in stacks))
    assert profile.samples <= sum(count for _, count in stacks)
    assert sum(pct for _, pct in profile.hottest()) <= 100.001
    assert "\x1b" not in repr(profile.stacks)
