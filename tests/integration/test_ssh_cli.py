"""The program with remote hosts: what it reports, and how it refuses to begin."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.loads import program
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.sshd import Sshd, SshdFactory, put_ssh

Loadtop = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def loadtop(tmp_path: Path) -> Callable[[Sshd], Loadtop]:
    """``loadtop(sshd)(words)`` runs the program where ``ssh`` knows that sshd under its alias."""

    def prepare(server: Sshd) -> Loadtop:
        environment = put_ssh(tmp_path, server.config)
        return lambda *words: program.loadtop(*words, "--no-record", env=environment)

    return prepare


def test_a_load_on_a_remote_host(machine: Sshd, web: Apache, loadtop: Callable[[Sshd], Loadtop]) -> None:
    words = ("--host", "web=ssh://web1", "-t", "5", "--interval", "0.5", "--rate", "50", "--json", "-")
    done = loadtop(machine)(*words, web.url)
    assert done.returncode == 0, done.stderr
    hosts: dict[str, Any] = {host["name"]: host for host in json.loads(done.stdout)["hosts"]}
    assert {name: host["role"] for name, host in hosts.items()} == {"web": "target", "local": "generator"}
    assert hosts["web"]["source"] == "ssh://web1"
    assert hosts["web"]["samples"] >= 3
    assert hosts["web"]["apache"]["mpm"] == "event"
    assert hosts["web"]["apache"]["requests_s"]["mean"] > 10
    assert hosts["local"]["source"] == "local"


def test_no_load_without_the_host(sshd: SshdFactory, apache: ApacheFactory, loadtop: Callable[[Sshd], Loadtop]) -> None:
    """Whatever the trouble is: ``test_ssh_faults`` has them all."""
    server, machine = apache(mpm="event"), sshd()
    machine.known_hosts.write_text("")
    done = loadtop(machine)("--host", "web=ssh://web1", "-n", "10", server.url)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert "ssh web1" in lines[0]
    assert done.stdout == ""
    assert "GET / " not in server.access_log.read_text()
