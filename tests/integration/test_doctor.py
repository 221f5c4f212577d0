"""``loadtop doctor`` on real servers: what it sees, what it misses, the line that fixes it, and how it ends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.loads.program import loadtop, summary_of
from tests.servers.apache import ApacheFactory
from tests.servers.haproxy import HaproxyFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.sshd import Sshd, SshdFactory, put_ssh

pytestmark = pytest.mark.servers

Doctor = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def doctor(tmp_path: Path) -> Callable[[Sshd | None], Doctor]:
    """``doctor(sshd)(words)``: the exit code and the JSON, where ``ssh`` knows that sshd under its alias."""

    def prepare(server: Sshd | None = None) -> Doctor:
        environment = None if server is None else put_ssh(tmp_path, server.config)

        def run(*words: str) -> tuple[int, dict[str, Any]]:
            done = loadtop("doctor", *words, "--json", "-", env=environment)
            assert done.stdout, done.stderr
            found = summary_of(done.stdout)
            assert found["schema"] == "loadtop.doctor/1"
            return done.returncode, found

        return run

    return prepare


def panels(host: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {panel["panel"]: panel for panel in host["panels"]}


def test_everything_that_runs_is_seen_local_and_remote(
    apache: ApacheFactory, haproxy: HaproxyFactory, sshd: SshdFactory, doctor: Callable[[Sshd | None], Doctor]
) -> None:
    web = apache(mpm="event", php="fpm", workers=6, fpm_children=3, extra="ListenBacklog 99")
    balancer = haproxy([web.port], maxconn=2)
    assert web.fpm is not None
    code, found = doctor(sshd())("--host", "here=local", "--host", "there=ssh://web1")
    assert code == 0
    assert [(host["name"], host["reachable"]) for host in found["hosts"]] == [("here", True), ("there", True)]
    for host in found["hosts"]:
        seen = panels(host)
        assert {seen[name]["health"] for name in ("cpu", "load", "memory", "swap", "tcp", "processes")} == {"ok"}
        assert f"event, 6 slots (http://127.0.0.1:{web.port}/server-status?auto)" in seen["apache"]["seen"]
        assert f"(127.0.0.1:{web.fpm.port}): pm.max_children 3" in seen["php-fpm"]["seen"]
        assert "backends be" in seen["haproxy"]["seen"]
    assert balancer.stats_socket.exists()


def test_the_lines_to_paste(
    apache: ApacheFactory, php_fpm: FpmFactory, doctor: Callable[[Sshd | None], Doctor]
) -> None:
    web = apache(status=False)
    php_fpm(tcp=False, extra="pm.status_path =")
    code, found = doctor(None)("--apache", web.status_url)
    assert code == 0
    seen = panels(found["hosts"][0])
    assert seen["apache"]["health"] == "missing"
    assert "SetHandler server-status" in seen["apache"]["fix"]
    assert seen["php-fpm"]["fix"] == "pm.status_path = /fpm-status"
    assert "pm.max_children 4" in seen["php-fpm"]["seen"]


def test_a_machine_that_cannot_be_reached_stops_no_other(
    sshd: SshdFactory, doctor: Callable[[Sshd | None], Doctor]
) -> None:
    server = sshd()
    server.known_hosts.write_text("")
    code, found = doctor(server)("--host", "there=ssh://web1", "--host", "here=psutil")
    assert code == 3
    there, here = found["hosts"]
    assert (there["reachable"], there["panels"]) == (False, [])
    assert "ssh web1" in there["problem"]
    assert panels(here)["cpu"]["health"] == "ok"
    assert panels(here)["pressure"]["missing"] == "psutil does not report pressure"


def test_the_text_is_for_people() -> None:
    done = loadtop("doctor")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("local  local  ")
    assert any(line.startswith("  ok      cpu        ") for line in lines)
    assert any("generator" in line for line in lines)


@pytest.mark.parametrize("words", [["--host", "a=b"], ["--fpm", "nonsense"], ["--haproxy", "x"], ["http://web1/"]])
def test_unknown_input(words: list[str]) -> None:
    done = loadtop("doctor", *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
