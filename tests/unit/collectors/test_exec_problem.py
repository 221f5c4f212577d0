"""What commands that lead to containers say, turned into one line with what to do."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import TransportError
from collectors.transport.exec.failures import explain
from collectors.transport.exec.start import TERMINAL, TERMINAL_SILENCE_S, first_line, sent, started
from collectors.transport.shell.frames import LOOP_SILENCE_S, cut_out

DOCKER = ("docker", "exec", "-i", "web", "sh")
DAEMON = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("the input device is not a TTY", "leave out its -t"),
        ("Unable to use a TTY - container web did not allocate one", "leave out its -t"),
        ("sudo: a terminal is required to read the password; either use the -S option", "asks for a password"),
        (f"Got {DAEMON}: Get ...: dial unix /var/run/docker.sock: connect: permission denied", "container runtime"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?", "does not respond"),
        ("Error response from daemon: No such container: web", "no container has that name"),
        ('Error from server (NotFound): pods "web" not found', "no container has that name"),
        ("Error response from daemon: container 0815 is not running", "start it, and loadtop connects"),
        ("Error: can only create exec sessions on running containers: container state improper", "is not running"),
        ("nsenter: cannot open /proc/4711/ns/user: No such file or directory", "find its new pid"),
        ("nsenter: reassociate to namespace 'ns/net' failed: Operation not permitted", "with sudo"),
        ("chroot: cannot change root directory to '/srv': Operation not permitted", "with sudo"),
        ('OCI runtime exec failed: exec: "sh": executable file not found in $PATH: unknown', "no such shell"),
        ("sh: 21: cd: can't cd to /proc", "its /proc is missing"),
        ("awk: not found", "install mawk, gawk or busybox"),
        ("sh: 1: dd: not found", "install coreutils or busybox"),
        ("the reading process ended", "was killed"),
    ],
)
def test_a_known_problem_comes_with_advice(said: str, part: str) -> None:
    problem = str(explain(DOCKER, ["", said], 1))
    assert part in problem
    assert said in problem, "and in which words the command said it"


def test_a_shell_that_reads_nothing() -> None:
    assert "docker exec -i" in str(explain(DOCKER, [], 0))


def test_an_unknown_problem_is_quoted() -> None:
    assert (
        str(explain(DOCKER, ["no idea\a"], 3)) == "docker ended with status 3 (no idea): does it start a POSIX shell?"
    )
    assert str(explain(DOCKER, ["killed"], None)) == "the connection was closed (killed)"


@given(st.lists(st.text(max_size=300), max_size=4), st.none() | st.integers(-64, 255), st.text(max_size=300))
def test_any_words_become_one_short_line(messages: list[str], status: int | None, printed: str) -> None:
    problem = str(explain(DOCKER, messages, status, printed))
    assert len(problem) < 600
    assert "\n" not in problem


def test_the_first_input_of_the_shell() -> None:
    """Neither the echo of a terminal nor a list of processes shows the mark in one piece."""
    mark = "0123456789abcdef"
    line = first_line(mark)
    assert mark not in line
    assert line.count("\n") == 1
    words = ["sh", "-c", line]
    done = subprocess.run(words, input=sent("echo ran"), capture_output=True, text=True, check=True, timeout=20)
    frame, _, rest = done.stdout.partition(f"\n#{mark}.\n")
    pid, silence_s = started(cut_out(frame.encode(), mark))
    assert pid > 1
    assert silence_s == LOOP_SILENCE_S
    assert rest == "ran\n"
    assert started(f"70 {TERMINAL}\n") == (70, TERMINAL_SILENCE_S)
    assert TERMINAL_SILENCE_S < 5
    for odd in ("", TERMINAL, "-1", "0", "9" * 30):
        with pytest.raises(TransportError):
            started(odd)
