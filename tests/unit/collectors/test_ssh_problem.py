"""What OpenSSH's client says, turned into one line with what to do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.transport.ssh.failures import HostKey, command_for
from collectors.transport.ssh.failures import explain as explained

KEY = HostKey("[web1]:2222", "/home/me/.ssh/known hosts")


def explain(place: str, messages: list[str], status: int | None, printed: str = "") -> str:
    return str(explained(place, messages, status, printed, KEY))


CHANGED = """@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Offending ED25519 key in /home/me/.ssh/known_hosts:3
  remove with:
  ssh-keygen -f '/home/me/.ssh/known_hosts' -R '[web1]:2222'
Host key verification failed."""


@pytest.mark.parametrize(
    ("said", "part"),
    [
        (CHANGED, "ssh-keygen -f '/home/me/.ssh/known hosts' -R '[web1]:2222' and then ssh me@web1"),
        (f"{CHANGED}\nConnection closed by UNKNOWN port 65535", "of a jump host has changed"),
        ("No ED25519 host key is known for web1 and you ...\nHost key verification failed.", "once with ssh me@web1"),
        ("Host key verification failed.\nConnection closed by UNKNOWN port 65535", "of a jump host is unknown"),
        ("me@web1: Permission denied (publickey).", "ssh-add"),
        ("me@web1: Permission denied (publickey,password).", "ssh-copy-id me@web1"),
        ("ssh: Could not resolve hostname web1: Name or service not known", "unknown host name"),
        ("ssh: connect to host web1 port 22: Connection refused", "check that sshd is running"),
        ("ssh: connect to host web1 port 22: Connection timed out", "firewall"),
        ("ssh: connect to host web1 port 22: No route to host", "no route"),
        ("Timeout, server web1 not responding.", "the connection is dead"),
        ("Connection closed by remote host", "was closed (Connection closed by remote host)"),
        ("", "the connection was closed"),
    ],
)
def test_each_problem_has_its_fix(said: str, part: str) -> None:
    line = explain("ssh://me@web1", said.splitlines(), 255)
    assert part in line
    assert line.isprintable()


HOSTILE = "'; touch /tmp/evil; $(evil) `evil` | evil"


@given(
    st.sampled_from((CHANGED, "Host key verification failed.", "Permission denied (publickey).", "Permission denied")),
    st.sampled_from((f"ssh-keygen -f '/x' -R '{HOSTILE}'", HOSTILE, f"Permission denied ({HOSTILE}).")),
    st.sampled_from((255, 1, None)),
)
def test_the_words_of_a_server_never_enter_a_command(said: str, banner: str, status: int | None) -> None:
    """A banner comes before everything that ssh itself says."""
    error = explained("ssh://me@web1", [*banner.splitlines(), *said.splitlines()], status, banner, KEY)
    assert "evil" not in str(error.fix)
    error = explained("ssh://me@web1", [*said.splitlines(), *banner.splitlines()], status, banner)
    assert "evil" not in str(error.fix)


def test_a_key_under_a_hostile_name() -> None:
    """The names come from the user's own configuration, and are quoted all the same."""
    assert HostKey("a b;c", "/k").remove("ssh://web1") == "ssh-keygen -f /k -R 'a b;c'"
    assert HostKey().remove("ssh://me@web1") == "ssh-keygen -R web1"


@pytest.mark.parametrize(
    ("messages", "status", "printed", "parts"),
    [
        (["Killed"], 137, "", ["its shell or a program it started was ended by signal 9"]),
        (["the reading process ended"], 1, "", ["its awk or perl"]),
        ([], 1, "\x1b[31mThis account is not available.\r\n", ["status 1", "This account is not available."]),
    ],
)
def test_a_shell_that_ends_is_quoted(messages: list[str], status: int, printed: str, parts: list[str]) -> None:
    line = explain("ssh://web1", messages, status, printed)
    assert all(part in line for part in parts)
    assert line.isprintable()


@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("ssh://web1", "ssh web1"),
        ("ssh://me@web1", "ssh me@web1"),
        ("ssh://a:b@web1", "ssh a:b@web1"),
        ("ssh://me@web1:2222", "ssh ssh://me@web1:2222"),
        ("ssh://[::1]", "ssh ssh://[::1]"),
    ],
)
def test_the_command_to_type(place: str, command: str) -> None:
    assert command_for(place) == command


SAID = st.text(max_size=30) | st.sampled_from([CHANGED, "Permission denied (a\n,b).", "Host key verification failed\n"])


@given(st.lists(SAID, max_size=4), st.none() | st.integers(-15, 255), SAID)
def test_any_message_is_one_line(messages: list[str], status: int | None, printed: str) -> None:
    assert "\n" not in explain("ssh://web1", messages, status, printed)
