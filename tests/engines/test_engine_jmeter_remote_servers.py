"""``--engine jmeter -R``: remote servers that run already, in network namespaces as machines. Needs root."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.lab.machines import Machine, machines
from tests.loads.engines import command_line, files_left, live_processes, mark_processes
from tests.loads.program import loadtop, started, summary_of, wait_until
from tests.loads.waiting import PORT, WAIT_S, waiting_server
from tests.servers.program import Program, answers, find_program

pytestmark = [pytest.mark.engines, pytest.mark.timeout(180)]

JMETER = Path(sys.prefix) / "jmeter" / "bin"
RMI = 1099
REPORTED_S = 15.0
STOPS_S = 5.0  # 2 s, and more on a busy machine
QUIET_S = 1.0  # without requests for so long, a load has stopped
GONE_S = 30.0


class Setup:
    """Two jmeter-servers and the server under load."""

    def __init__(self, mark: str, hosts: list[Machine], servers: list[Program], url: str, log: Path) -> None:
        self.mark, self.hosts, self.servers, self.url, self._log = mark, hosts, servers, url, log
        self.remote = ("--engine", "jmeter", "-k", "-R", ",".join(host.address for host in hosts))

    def served(self) -> int:
        return len(self._log.read_text().splitlines())

    def stopped_after(self, moment: float) -> float:
        """Return how many seconds after a moment the last request came, once there are no more."""
        served, changed = self.served(), time.monotonic()
        while time.monotonic() < changed + QUIET_S:
            assert time.monotonic() < moment + 60, "it does not stop"
            time.sleep(0.02)
            if self.served() != served:
                served, changed = self.served(), time.monotonic()
        return changed - moment

    def is_idle(self) -> bool:
        """Return whether no more requests arrive."""
        before = self.served()
        time.sleep(1)
        return self.served() == before


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    if not (JMETER / "jmeter").exists():
        pytest.fail("this test needs JMeter: make test-engines", pytrace=False)
    with setup_of(JMETER, tmp_path, monkeypatch) as made:
        yield made


@contextmanager
def setup_of(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Setup]:
    """Remote servers and a client of the JMeter in ``programs``."""
    mark = mark_processes(monkeypatch, tmp_path, programs)
    log = tmp_path / "web.log"
    with ExitStack() as tidy:
        *hosts, web = tidy.enter_context(machines(("s1", "s2", "web")))
        server = tidy.enter_context(waiting_server(web.launcher, log))
        server.wait_until(lambda: answers(PORT, web.address))
        # Not in this test's environment: they are the user's, and stay.
        monkeypatch.delenv("TESTS_MARK")
        servers = [tidy.enter_context(jmeter_server(programs, host, tmp_path)) for host in hosts]
        monkeypatch.setenv("TESTS_MARK", mark)
        for each, host in zip(servers, hosts, strict=True):
            each.wait_until(partial(answers, RMI, host.address))
        yield Setup(mark, hosts, servers, f"http://{web.address}:{PORT}/", log)


def jmeter_server(programs: Path, host: Machine, directory: Path) -> Program:
    words = ("-s", f"-Djava.rmi.server.hostname={host.address}", "-j", str(directory / f"{host.name}.jmeter.log"))
    return Program([*host.launcher, str(programs / "jmeter"), *words], log=directory / f"{host.name}.log")


def with_keys(directory: Path) -> Path:
    """Copy JMeter with servers that speak TLS, its default; return its programs."""
    programs = directory / "encrypted" / "bin"
    shutil.copytree(JMETER, programs)
    (programs.parent / "lib").symlink_to(JMETER.parent / "lib")
    keys = directory / "rmi_keystore.jks"
    properties = programs / "user.properties"
    plain = properties.read_text().replace("server.rmi.ssl.disable=true", f"server.rmi.ssl.keystore.file={keys}")
    properties.write_text(plain)
    # What JMeter's create-rmi-keystore.sh does.
    words = "-genkey -keyalg RSA -alias rmi -storepass changeit -keypass changeit -validity 7 -keysize 2048"
    made = subprocess.run(
        ["keytool", *words.split(), "-dname", "CN=rmi", "-keystore", str(keys)], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return programs


def make_load_until(setup: Setup, end: signal.Signals) -> None:
    """Run a load to its end, and another one that is ended early; the servers stop after both."""
    done = loadtop(*setup.remote, "-n", "20", "-c", "2", "--json", "-", setup.url)
    assert done.returncode == 0, done.stderr
    assert (summary_of(done.stdout)["load"]["requests"], setup.served()) == (20, 20)
    with started("--json", "-", *setup.remote, "-t", "60", "-c", "4", setup.url) as program:
        assert wait_until(lambda: setup.served() > 60, 80)
        program.send_signal(end)
        program.communicate(timeout=30)
    assert wait_until(setup.is_idle, 20)


def test_servers_with_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = with_keys(tmp_path)
    with setup_of(programs, tmp_path, monkeypatch) as setup:
        make_load_until(setup, signal.SIGKILL)
        (tmp_path / "rmi_keystore.jks").rename(tmp_path / "lost.jks")
        lost = loadtop(*setup.remote, "-n", "20", "-c", "2", setup.url)
        assert lost.returncode == 3
        assert "expects its keys in rmi_keystore.jks" in " ".join((lost.stdout + lost.stderr).split())
        assert wait_until(lambda: not live_processes(setup.mark), 20), [
            command_line(pid) for pid in live_processes(setup.mark)
        ]


def test_debians_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Path(find_program("jmeter", install="apt-get install jmeter jmeter-http")).parent
    with setup_of(programs, tmp_path, monkeypatch) as setup:
        make_load_until(setup, signal.SIGINT)
        assert wait_until(lambda: not live_processes(setup.mark), 20), [
            command_line(pid) for pid in live_processes(setup.mark)
        ]


def test_two_servers_share_the_load(setup: Setup) -> None:
    done = loadtop(*setup.remote, "-n", "60", "-c", "6", "--json", "-", setup.url)
    assert done.returncode == 0, done.stderr
    load = summary_of(done.stdout)["load"]
    assert (load["state"], load["requests"], load["failed"], setup.served()) == ("done", 60, 0, 60)
    assert [(each["name"], each["state"]) for each in load["workers"]] == [
        (host.address, "stopped") for host in setup.hosts
    ]
    done = loadtop(*setup.remote, "-t", "4", "-c", "6", "--json", "-", setup.url)
    load = summary_of(done.stdout)["load"]
    assert (load["requests"], load["failed"]) == (setup.served() - 60, 0)
    assert load["requests"] / 4 == pytest.approx(6 / WAIT_S, rel=0.3)
    assert load["latency_ms"]["p50"] == pytest.approx(1000 * WAIT_S, rel=0.3)
    assert setup.is_idle()
    assert wait_until(lambda: not live_processes(setup.mark), 10), [
        command_line(pid) for pid in live_processes(setup.mark)
    ]


def test_lost_servers_are_reported_and_the_rest_continues(setup: Setup) -> None:
    with started("--json", "-", *setup.remote, "-t", "60", "-c", "4", setup.url) as program:

        def told(text: str, since: float) -> bool:
            line = ""
            while text not in line and time.monotonic() < since + 20:
                line = program.stderr.readline() if program.stderr is not None else ""
            return time.monotonic() < since + REPORTED_S

        assert wait_until(lambda: setup.served() > 40, 80)
        setup.hosts[1].cut()
        assert told(f"lost the connection to jmeter-server {setup.hosts[1].address}", time.monotonic())
        before = setup.served()
        assert wait_until(lambda: setup.served() > before + 20, 10)
        setup.servers[0].kill()
        assert told(f"jmeter-server {setup.hosts[0].address}: Connection refused", time.monotonic())
        out, _ = program.communicate(timeout=30)
    assert program.returncode == 3
    load = summary_of(out)["load"]
    assert (load["state"], [each["state"] for each in load["workers"]]) == ("failed", ["missing", "missing"])
    assert wait_until(lambda: not live_processes(setup.mark), 10), [
        command_line(pid) for pid in live_processes(setup.mark)
    ]


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGTSTP"])
def test_the_servers_pause_with_us(setup: Setup, name: str) -> None:
    with started("--json", "-", *setup.remote, "-t", "60", "-c", "60", setup.url, group=0) as program:
        assert wait_until(lambda: setup.served() > 100, 80)
        program.send_signal(getattr(signal, name))
        assert setup.stopped_after(time.monotonic()) < STOPS_S + WAIT_S
        before = setup.served()
        program.send_signal(signal.SIGCONT)
        assert wait_until(lambda: setup.served() > before + 100, GONE_S)
        program.send_signal(signal.SIGINT)
        out, told = program.communicate(timeout=30)
    assert program.returncode == 130, told
    load = summary_of(out)["load"]
    assert 0.5 * setup.served() < load["requests"] - load["failed"] <= setup.served()


@pytest.mark.parametrize("ended", ["SIGINT", "SIGKILL", "client"])
def test_the_servers_stop_with_us(setup: Setup, ended: str) -> None:
    with started("--json", "-", *setup.remote, "-t", "60", "-c", "4", setup.url) as program:
        assert wait_until(lambda: setup.served() > 40, 80)
        if ended == "client":
            (client,) = live_processes(setup.mark, "java\0", "-R\0")
            os.kill(client, signal.SIGKILL)
            killed = time.monotonic()
            assert any("jmeter ended" in line for line in program.stderr or ())
            assert time.monotonic() < killed + REPORTED_S
        else:
            program.send_signal(getattr(signal, ended))
            killed = time.monotonic()
        stopped_s = setup.stopped_after(killed)
        assert wait_until(lambda: not live_processes(setup.mark), killed + GONE_S - time.monotonic()), [
            command_line(pid) for pid in live_processes(setup.mark)
        ]
        out, told = program.communicate(timeout=30)
    assert program.returncode == {"SIGINT": 130, "SIGKILL": -9, "client": 3}[ended], told
    assert stopped_s < (GONE_S if ended == "client" else STOPS_S + WAIT_S)
    assert wait_until(lambda: not files_left(), GONE_S)
    if ended == "client":
        assert summary_of(out)["load"]["state"] == "failed"
    if ended == "SIGINT":
        load = summary_of(out)["load"]
        assert 0.5 * setup.served() < load["requests"] - load["failed"] <= setup.served()
    # They are the user's: they go on, and make the next load.
    assert wait_until(lambda: loadtop(*setup.remote, "-n", "8", "-c", "2", setup.url).returncode == 0)


def test_servers_that_make_no_load(setup: Setup) -> None:
    remote = ("--engine", "jmeter", "-R", f"{setup.hosts[0].address}:1")
    gone = loadtop(*remote, "-n", "2", setup.url)
    assert gone.returncode == 3
    assert "Connection refused. Start jmeter-server there" in gone.stdout + gone.stderr
    with started("--json", "-", *setup.remote, "-t", "60", "-c", "4", setup.url):
        assert wait_until(lambda: setup.served() > 20, 80)
        busy = loadtop(*setup.remote, "-n", "8", "-c", "2", setup.url)
        assert busy.returncode == 3
        assert "Engine is busy" in busy.stdout + busy.stderr
        before = setup.served()
        assert wait_until(lambda: setup.served() > before + 20, 10)
