"""Real Redis: found, asked near and over SSH, full, with a password, and busy."""

import asyncio
import contextlib

import pytest

from collectors.redis.collector import PASSWORD
from loadtop.model import HostSample, State
from loadtop.servers.redis.kind import REDIS
from loadtop.servers.redis.record import RedisStatus
from tests.servers.redis import RedisFactory
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, outcome, until

pytestmark = pytest.mark.servers


def read(sample: HostSample) -> RedisStatus | None:
    return next(iter(REDIS.readings(sample)), None)


@pytest.mark.parametrize("far", [False, True])
async def test_it_is_found_and_says_when_it_is_full(
    redis: RedisFactory, machine: Sshd, watch: Watch, far: bool
) -> None:
    server = redis(maxclients=9)
    given = {} if far is False else {"status_urls": {"redis": [str(server.unix_socket)]}}
    host = await watch(remote=machine.transport() if far else None, **given)
    server.run("CONFIG SET slowlog-log-slower-than 0", *["PING"] * 5)
    sample = await until(host, lambda s: (status := read(s)) is not None and (status.slowlog or 0) >= 5)
    status = read(sample)
    assert status is not None
    assert (status.port, status.max_clients, status.refuses) == (server.port, 9, False)
    assert (status.address == server.address) is not far
    assert status.commands is not None
    assert status.cpu is not None
    assert outcome(sample, "redis") == (State.OK, "")
    with contextlib.ExitStack() as opened:
        for _ in range(20):  # more than it takes
            opened.enter_context(server.client())
        await until(host, lambda s: (status := read(s)) is not None and status.clients == 9)
        late = await watch(remote=machine.transport() if far else None, **given)
        sample = await until(late, lambda s: (status := read(s)) is not None and status.refuses)
        assert "maxclients is reached" in outcome(sample, "redis")[1]
    for each in (host, late):
        await until(each, lambda s: (status := read(s)) is not None and not status.refuses and status.clients != 9)


async def test_a_password(redis: RedisFactory, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    server = redis(password="Hu5h")
    host = await watch()
    sample = await until(host, lambda s: "a password is required" in outcome(s, "redis")[1])
    assert f"{PASSWORD}=PASSWORD" in outcome(sample, "redis")[1]
    monkeypatch.setenv(PASSWORD, "Hu5h")
    named = await watch(status_urls={"redis": [server.address]})
    assert outcome(await until(named, lambda s: read(s) is not None), "redis") == (State.OK, "")
    assert REDIS.readings(host.latest()[0]) == ()


async def test_a_script_that_keeps_its_thread_busy(redis: RedisFactory, watch: Watch) -> None:
    server = redis()
    host = await watch()
    before = read(await until(host, lambda s: read(s) is not None))
    script = "local t = redis.call('TIME')[1] + 3; while redis.call('TIME')[1] + 0 < t do end"
    task = asyncio.create_task(asyncio.to_thread(server.run, f'EVAL "{script}" 0'))
    await until(host, lambda s: "no response" in outcome(s, "redis")[1])
    await task
    after = read(await until(host, lambda s: read(s) is not None))
    assert before is not None
    assert after is not None
    assert after.cpu is not None
    assert before.cpu is not None
    assert after.cpu - before.cpu > 10.0  # hundredths of a second, of 2 to 3 s that it shares with other tests
