"""What each machine of a load by JMeter does."""

from types import SimpleNamespace
from typing import cast

from loadtop.engines.generator import Generator
from loadtop.engines.jmeter.crew import crew, stopped
from loadtop.engines.jmeter.results import Results, Rows
from loadtop.engines.jmeter.servers import Servers
from loadtop.engines.member import Member
from loadtop.model import EngineWorker

BEGUN = "Starting standalone test @ 2026 Jan 31 12:00:00 CET (1769857200000)"
ROW = b"1769857200000,12,/,200,OK,s1 1-3,true,1200,120,7,7,12,3\n"


def member(name: str, *words: str, ended: bool = False, rows: bytes = b"") -> tuple[Member, Rows]:
    """A JMeter that has said so much."""
    measured = Rows(Results())
    measured.feed(rows)
    made = SimpleNamespace(generator=Generator(name, "ssh://there"), words=words, ended=ended)
    return cast("Member", made), measured


def test_several_machines_each_with_its_state() -> None:
    members = [
        member("a"),
        member("b", BEGUN),
        member("c", BEGUN, rows=ROW),
        member("d", BEGUN, "Tidying up ...", rows=ROW),
        member("e", BEGUN, ended=True, rows=ROW),
    ]
    found = crew(members, Servers(()))
    assert [(worker.name, worker.state, worker.users) for worker in found] == [
        ("a", "starting", None),
        ("b", "running", None),
        ("c", "running", 7),
        ("d", "stopped", None),
        ("e", "missing", None),
    ]
    assert [worker.missing for worker in stopped(found)] == [False, False, False, False, True]
    assert {worker.state for worker in stopped(found)} == {"stopped", "missing"}


def test_one_jmeter_alone_is_the_load_itself() -> None:
    assert crew([member("this machine", BEGUN)], Servers(())) == ()


def test_the_servers_of_a_client() -> None:
    servers = Servers(["web1", "web2:1100"])
    assert crew([member("this machine")], servers) == (
        EngineWorker("web1", "web1", "starting"),
        EngineWorker("web2:1100", "web2:1100", "starting"),
    )
    found = crew([member("this machine", "Remote engines have been started:[web1, web2:1100]")], servers)
    assert {worker.state for worker in found} == {"running"}
