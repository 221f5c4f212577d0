"""What the output of JMeter means, and what each machine of its load does."""

from loadtop.engines.engine import Machine
from loadtop.engines.jmeter.plan import JmeterSettings
from loadtop.engines.jmeter.process import JmeterProcess, RemoteServers, stopped, workers_of
from loadtop.engines.jmeter.result_file import Results
from loadtop.generator.plan import Plan, Step, Target
from loadtop.model import EngineWorker

STARTED = "Starting standalone test @ 2026 Jan 31 12:00:00 CET (1769857200000)"
SERVERS_STARTED = "Remote engines have been started:[web1, web2:1100]"
ROW = b"1769857200000,12,/,200,OK,s1 1-3,true,1200,120,7,7,12,3\n"
PLAN = Plan((Target.parse("http://web1/"),), (Step(concurrency=1),))


def jmeter(name: str, *lines: str, rows: bytes = b"") -> JmeterProcess:
    """A process that has printed these lines and rows."""
    machine = Machine(name, "ssh://there")
    process = JmeterProcess(machine, JmeterSettings(PLAN, (machine,), "jmeter"), PLAN, Results())
    process.reader.feed(rows)
    for line in lines:
        process.take_line(line)
    return process


def test_each_of_several_machines_has_its_state() -> None:
    processes = [
        jmeter("a"),
        jmeter("b", STARTED),
        jmeter("c", STARTED, rows=ROW),
        jmeter("d", STARTED, "Tidying up ...", rows=ROW),
        jmeter("e", STARTED, "loadtop:ended 1", rows=ROW),
        jmeter("f", STARTED, "Tidying up ...", "loadtop:ended 0", rows=ROW),
    ]
    found = workers_of(processes, RemoteServers(()))
    assert [(worker.name, worker.state, worker.users) for worker in found] == [
        ("a", "starting", None),
        ("b", "running", None),
        ("c", "running", 7),
        ("d", "stopped", None),
        ("e", "missing", None),
        ("f", "stopped", None),
    ]
    assert [worker.name for worker in stopped(found) if worker.missing] == ["e"]
    assert {worker.state for worker in stopped(found)} == {"stopped", "missing"}


def test_one_jmeter_alone_is_the_load_itself() -> None:
    assert workers_of([jmeter("this machine", STARTED)], RemoteServers(())) == ()


def test_the_servers_of_a_client() -> None:
    servers = RemoteServers(["web1", "web2:1100"])
    assert workers_of([jmeter("this machine")], servers) == (
        EngineWorker("web1", "web1", "starting"),
        EngineWorker("web2:1100", "web2:1100", "starting"),
    )
    found = workers_of([jmeter("this machine", SERVERS_STARTED)], servers)
    assert {worker.state for worker in found} == {"running"}


def test_the_output_of_a_client_of_servers() -> None:
    waiting = "Waiting for possible Shutdown/StopTestNow/HeapDump/ThreadDump message on port 4446"
    assert jmeter("a", "x", waiting).stop_port == 4446
    assert jmeter("a", "Waiting for possible shutdown message on port 4445").stop_port == 4445
    assert jmeter("a").stop_port is None
    refused = jmeter("a", "The following remote engines have not started:[127.0.0.1:12099]")
    assert refused.refused_by == "127.0.0.1:12099"
    assert str(refused.failure) == "jmeter-server 127.0.0.1:12099 does not generate load"
    assert not jmeter("a", SERVERS_STARTED).refused_by


def test_why_there_is_no_load() -> None:
    for lines, expected in (
        (("loadtop:missing jmeter",), "jmeter is not installed on g1: unpack Apache JMeter there"),
        (("loadtop:missing java",), "java is not installed on g1: install a Java runtime there"),
        (("Cause:", "no such file", "at org.x"), "jmeter on g1 ended: no such file"),
        (("Error in NonGUIDriver java.io.Problem: odd",), "jmeter on g1 ended: java.io.Problem: odd"),
        (("Created the tree", "summary = 0"), "jmeter on g1 ended"),
    ):
        assert str(jmeter("g1", *lines).failure).startswith(expected)
