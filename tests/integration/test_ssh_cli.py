"""The program with far machines: what it reports, and how it refuses to begin."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers.apache import ApacheFactory
from tests.servers.program import find_program
from tests.servers.sshd import Sshd, SshdFactory

Loadtop = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def loadtop(tmp_path: Path) -> Callable[[Sshd], Loadtop]:
    """``loadtop(sshd)(words)`` runs the program where ``ssh`` knows that sshd under its alias."""

    def prepare(server: Sshd) -> Loadtop:
        ssh = tmp_path / "ssh"
        real = find_program("ssh", install="apt-get install openssh-client")
        ssh.write_text(f'#!/bin/sh\nexec {real} -F {server.config} "$@"\n')
        ssh.chmod(0o755)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

        def run(*words: str) -> "subprocess.CompletedProcess[str]":
            command = [sys.executable, "-m", "loadtop", *words, "--no-record"]
            return subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=environment
            )

        return run

    return prepare


def test_a_load_on_a_far_machine(sshd: SshdFactory, apache: ApacheFactory, loadtop: Callable[[Sshd], Loadtop]) -> None:
    server = apache(mpm="event")
    done = loadtop(sshd())("--host", "web=ssh://web1", "-t", "3", "-c", "2", "--json", "-", server.url)
    assert done.returncode == 0, done.stderr
    hosts: dict[str, Any] = {host["name"]: host for host in json.loads(done.stdout)["hosts"]}
    assert {name: host["role"] for name, host in hosts.items()} == {"web": "target", "local": "generator"}
    assert hosts["web"]["source"] == "ssh://web1"
    assert hosts["web"]["samples"] >= 3
    assert hosts["web"]["apache"]["mpm"] == "event"
    assert hosts["web"]["apache"]["requests_s"]["mean"] > 10
    assert hosts["local"]["source"] == "local"


def _unknown_host_key(machine: Sshd, _: Sshd) -> None:
    machine.known_hosts.write_text("")


def _changed_host_key(machine: Sshd, other: Sshd) -> None:
    machine.known_hosts.write_text(f"[127.0.0.1]:{machine.port} {(other.directory / 'host_key.pub').read_text()}")


def _wrong_key(machine: Sshd, _: Sshd) -> None:
    (machine.directory / "authorized_keys").write_text("")


def _missing_user(machine: Sshd, _: Sshd) -> None:
    configuration = machine.config.read_text()
    machine.config.write_text(configuration.replace(f"User {machine.user}", "User nobody-here"))


@pytest.mark.parametrize("trouble", [_unknown_host_key, _changed_host_key, _wrong_key, _missing_user])
def test_no_load_without_the_host(
    sshd: SshdFactory,
    apache: ApacheFactory,
    loadtop: Callable[[Sshd], Loadtop],
    trouble: Callable[[Sshd, Sshd], None],
) -> None:
    server, machine = apache(mpm="event"), sshd()
    trouble(machine, sshd())
    done = loadtop(machine)("--host", "web=ssh://web1", "-n", "10", server.url)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert "ssh web1" in lines[0]
    assert done.stdout == ""
    assert "GET / " not in server.access_log.read_text()
