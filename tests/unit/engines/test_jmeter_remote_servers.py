"""jmeter-servers: which can be reached, how a load is shared out among them, and what is no list of them."""

import asyncio
import socket

import pytest

from loadtop.cli.options.command_line import parse
from loadtop.engines.engine import LOCAL
from loadtop.engines.jmeter.plan import JmeterSettings, check_even
from loadtop.engines.jmeter.process import RemoteServers, arguments_of, local_address
from loadtop.generator.plan import Plan, PlanError, Step, Target

URL = "http://127.0.0.1:9/"


async def test_a_server_that_cannot_be_reached_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        both = f"127.0.0.1:{port}", "127.0.0.1:1"
        assert await RemoteServers(both[:1]).unreachable() is None
        assert str(await RemoteServers(both).unreachable()).startswith(
            "cannot reach jmeter-server 127.0.0.1:1: Connection"
        )


async def test_a_server_that_ends_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadtop.engines.jmeter.process.CHECK_S", 0)
    with socket.create_server(("127.0.0.1", 0)) as there:
        name = f"127.0.0.1:{there.getsockname()[1]}"
        servers = RemoteServers([name])
        assert (servers.left, servers.lost) == (1, None)
    watching = asyncio.create_task(servers.watch())
    for _ in range(10_000):
        await asyncio.sleep(0)
        if not servers.left:
            break
    assert str(servers.lost) == f"lost the connection to jmeter-server {name}: Connection refused"
    assert [worker.missing for worker in servers.workers("running")] == [True]
    watching.cancel()


def test_the_address_that_servers_answer_to() -> None:
    assert local_address("127.0.0.1") == "127.0.0.1"


def test_every_server_does_the_same() -> None:
    target = (Target.parse(URL),)
    check_even(Plan(target, (Step(concurrency=4, requests=10),)), 2)
    with pytest.raises(PlanError, match="-c must be a multiple of 2, got 3"):
        check_even(Plan(target, (Step(concurrency=3, duration_s=1),)), 2)


@pytest.mark.parametrize(("threads", "milliseconds"), [(2, 75), (60, 2), (4000, 1)])
def test_every_thread_of_a_server_sends_soon(threads: int, milliseconds: int) -> None:
    """One whose client is stopped waits as soon as it sends, so the load stops."""
    plan = Plan((Target.parse(URL),), (Step(concurrency=1), Step(concurrency=threads)))
    settings = JmeterSettings(plan, (LOCAL,), "jmeter", servers=("g1",))
    assert f"-Jtime_threshold={milliseconds}" in arguments_of(settings, plan)


def test_the_servers_are_read_from_the_command_line() -> None:
    options = parse(["--engine", "jmeter", "-R", "g1,g2:1100", "-c", "2", URL])
    assert options.servers == ("g1", "g2:1100")
    assert options.generators == []
