"""The generator against servers that behave, and others that do not."""

import asyncio
import time

import pytest

from loadtop.generator.plan import Plan, Step, Target
from loadtop.model import LoadState
from loadtop.model.histogram import percentile
from tests.loads.running import plan, run_load
from tests.loads.scripted import OK, read_request, scripted

BOTH = pytest.mark.parametrize("keepalive", [True, False])


@BOTH
@pytest.mark.parametrize("workers", [1, 3])
async def test_sends_exactly_n_requests(keepalive: bool, workers: int) -> None:
    async with scripted() as server:
        run = await run_load(plan(server.url, requests=251, concurrency=7, keepalive=keepalive, workers=workers))
    assert run.last.state is LoadState.DONE
    assert run.last.requests == len(server.heads) == run.total.count == 251
    assert run.last.failed == run.last.non_2xx == 0
    assert run.last.body_bytes == 502
    assert run.last.received_bytes == 251 * len(OK)
    assert run.last.sent_bytes == sum(len(head) for head in server.heads)
    assert run.last.keepalive_requests == (251 if keepalive else 0)
    assert server.most <= 7
    assert (server.connections == 251) is not keepalive
    assert run.last.message == ""
    assert run.last.in_flight == run.last.connections == 0


@BOTH
async def test_never_has_more_connections_than_asked(keepalive: bool) -> None:
    async with scripted(pause_s=0.05) as server:
        run = await run_load(plan(server.url, requests=60, concurrency=5, keepalive=keepalive))
    assert server.most == 5
    assert max(sample.in_flight or 0 for sample in run.samples) == 5
    assert run.last.requests == 60


async def test_the_time_limit_ends_the_load_and_what_is_in_flight_is_counted() -> None:
    async with scripted(pause_s=0.8) as server:
        run = await run_load(plan(server.url, seconds=0.5, concurrency=3, keepalive=True))
    assert run.last.state is LoadState.DONE
    assert (run.last.requests, run.last.pending, len(server.heads)) == (3, 0, 3)
    assert run.last.elapsed_s > 0.7


@BOTH
async def test_a_server_may_close_kept_connections_at_any_time(keepalive: bool) -> None:
    async with scripted(per_connection=3) as server:
        run = await run_load(plan(server.url, requests=100, concurrency=4, keepalive=keepalive))
    assert run.last.requests == run.total.count == 100
    assert run.last.failed == 0
    assert len(server.heads) == 100


async def test_bodies_of_another_length_are_failures_unless_allowed() -> None:
    def answer(number: int) -> bytes:
        return OK if number != 5 else b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nOK!"

    async with scripted(answer) as server:
        run = await run_load(plan(server.url, requests=10, concurrency=1, keepalive=True))
    assert run.failures.length == run.last.failed == 1
    assert run.last.requests == 10
    assert run.last.server is not None
    assert run.last.server.document_bytes == 2
    async with scripted(answer) as server:
        run = await run_load(plan(server.url, requests=10, concurrency=1, keepalive=True, any_length=True))
    assert run.last.failed == 0


async def test_answers_that_are_not_2xx_are_counted_apart() -> None:
    def answer(number: int) -> bytes:
        return OK if number % 2 else b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"

    async with scripted(answer) as server:
        run = await run_load(plan(server.url, requests=20, concurrency=1, keepalive=True))
    assert run.last.non_2xx == 10
    assert run.last.failed == 0


async def test_a_404_page_is_not_a_failure_but_is_mentioned() -> None:
    async with scripted(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno") as server:
        run = await run_load(plan(server.url, requests=20, keepalive=True))
    assert run.last.state is LoadState.DONE
    assert run.last.non_2xx == run.last.requests == 20
    assert str(run.last.message) == "the server answers 404 to every request: is the path right?"


async def test_the_server_is_described() -> None:
    answer = b"HTTP/1.1 200 OK\r\nServer: Apache/2.4 (Debian)\r\nContent-Length: 2\r\n\r\nok"
    async with scripted(answer) as server:
        run = await run_load(plan(server.url + "a?b=c", requests=2, concurrency=1))
    seen = run.last.server
    assert seen is not None
    assert (seen.software, seen.hostname, seen.port) == ("Apache/2.4 (Debian)", "127.0.0.1", server.port)
    assert (seen.path, seen.document_bytes, seen.tls) == ("/a?b=c", 2, "")


@BOTH
async def test_a_server_that_never_answers_is_a_timeout(keepalive: bool) -> None:
    async with scripted(pause_s=60) as server:
        run = await run_load(plan(server.url, requests=4, concurrency=2, keepalive=keepalive, timeout_s=0.3))
    assert run.failures.timeout == run.last.requests == 4
    assert run.total.count == 0
    assert 0.6 <= run.last.elapsed_s < 20
    assert "within 0.3 s" in str(run.last.message)


@BOTH
async def test_a_stuck_answer_is_a_timeout_too(keepalive: bool) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK[:-1])
        await asyncio.sleep(60)

    async with scripted(handler=handle) as server:
        run = await run_load(plan(server.url, requests=2, concurrency=2, keepalive=keepalive, timeout_s=0.2))
    assert run.failures.timeout == 2


@BOTH
async def test_a_server_that_closes_without_an_answer_is_a_failed_receive(keepalive: bool) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        assert writer.transport is not None

    async with scripted(handler=handle) as server:
        run = await run_load(plan(server.url, requests=4, concurrency=2, keepalive=keepalive))
    assert run.last.state is LoadState.DONE
    assert run.failures.receive == run.last.requests == 4
    assert "without a response" in str(run.last.message)


@BOTH
async def test_garbage_is_an_exception(keepalive: bool) -> None:
    async with scripted(b"SSH-2.0-OpenSSH\r\n\r\n") as server:
        run = await run_load(plan(server.url, requests=4, concurrency=2, keepalive=keepalive))
    assert run.failures.exceptions == run.last.requests == 4
    assert "not valid HTTP" in str(run.last.message)


async def test_a_server_without_length_is_read_to_the_end() -> None:
    def answer(number: int) -> bytes:
        return b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * (90_000 if number % 2 else 110_000)

    async with scripted(answer, per_connection=1) as server:
        run = await run_load(plan(server.url, requests=20, concurrency=3, keepalive=True, any_length=True))
    assert run.last.requests == 20
    assert run.last.failed == 0
    assert run.last.body_bytes == 2_000_000


@BOTH
async def test_large_bodies_go_both_ways(keepalive: bool) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"y" * 1_000_000
    async with scripted(answer) as server:
        body = b"x" * 3_000_000
        run = await run_load(plan(server.url, requests=8, concurrency=2, keepalive=keepalive, method="POST", body=body))
    assert run.last.failed == 0
    assert run.last.requests == 8
    assert run.last.body_bytes == 8_000_000
    assert run.last.sent_bytes == 8 * 3_000_000 + sum(map(len, server.heads))
    assert all(b"Content-Length: 3000000" in head for head in server.heads)


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_the_same_head_means_another_thing_after_another_request(concurrency: int) -> None:
    """Servers answer HEAD and GET with the very same head; a body follows one of them."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await read_request(reader))[0]:
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + (not head.startswith(b"HEAD")) * b"x" * 1000
            )

    async with scripted(handler=handle) as server:
        targets = tuple(Target.parse(server.url, method=method) for method in ("HEAD", "GET", "POST", "HEAD"))
        what = Plan(targets, (Step(concurrency=concurrency, requests=80),), keepalive=True, timeout_s=10.0)
        run = await run_load(what)
    assert (run.last.requests, run.last.failed, run.last.keepalive_requests) == (80, 0, 80), run.last.message
    assert run.last.body_bytes == 40_000


async def test_each_target_keeps_its_own_body() -> None:
    got: dict[bytes, set[bytes]] = {}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head, body = await read_request(reader)
            if not head:
                return
            got.setdefault(head.split(b" ")[1], set()).add(body)
            writer.write(OK)

    # Lines within a body, one longer than a pipe holds, one of nothing, one that two share.
    bodies = {"/a": b"{}\n\n", "/b": bytes(range(256)) * 1000 + b"\n", "/c": b"", "/d": b"{}\n\n"}
    async with scripted(handler=handle) as server:
        targets = [Target.parse(server.url[:-1] + path, method="POST", body=body) for path, body in bodies.items()]
        what = Plan(tuple(targets), (Step(concurrency=4, requests=80),), keepalive=True, workers=2)
        run = await run_load(what)
    assert (run.last.state, run.last.failed) == (LoadState.DONE, 0)
    assert got == {path.encode(): {body} for path, body in bodies.items()}


async def test_ipv6_works() -> None:
    async with scripted(host="::1") as server:
        run = await run_load(plan(server.url, requests=10))
        kept = await run_load(plan(server.url, requests=10, keepalive=True))
    assert run.last.requests == kept.last.requests == 10
    assert run.last.failed == kept.last.failed == 0
    assert b"Host: [::1]:" in server.heads[0]


async def test_the_first_address_that_answers_is_used() -> None:
    # localhost is ::1 and 127.0.0.1 on most machines, and this server listens at one of them only.
    async with scripted() as server:
        run = await run_load(plan(f"http://localhost:{server.port}/", requests=10))
    assert run.last.failed == 0
    assert run.last.requests == 10


async def test_targets_are_requested_in_proportion_to_their_weights() -> None:
    async with scripted() as server:
        targets = tuple(
            Target.parse(f"{server.url}{name}", weight=weight, method=method)
            for name, weight, method in (("a", 1, "GET"), ("b", 2, "PUT"), ("c", 5, "GET"))
        )
        await run_load(Plan(targets, (Step(concurrency=3, requests=80),), keepalive=True))
    lines = [head.split(b" HTTP")[0] for head in server.heads]
    assert {line: lines.count(line) for line in set(lines)} == {b"GET /a": 10, b"PUT /b": 20, b"GET /c": 50}


async def test_targets_may_be_on_several_servers() -> None:
    async with scripted() as one, scripted() as two:
        targets = (Target.parse(one.url), Target.parse(two.url))
        run = await run_load(Plan(targets, (Step(concurrency=2, requests=20),), keepalive=True))
    assert (len(one.heads), len(two.heads)) == (10, 10)
    assert run.last.failed == 0


async def test_steps_follow_each_other_with_their_own_targets_and_connections() -> None:
    async with scripted(pause_s=0.01) as server:
        targets = (Target.parse(server.url + "a"), Target.parse(server.url + "b"))
        steps = (
            Step(concurrency=2, requests=20, targets=(0,)),
            Step(concurrency=6, duration_s=0.4, targets=(1,)),
            Step(concurrency=1, requests=5),
        )
        run = await run_load(Plan(targets, steps, keepalive=True))
    assert run.last.state is LoadState.DONE
    assert run.last.requests == len(server.heads)
    assert [head[5:6] for head in server.heads[:20]] == [b"a"] * 20
    assert server.heads[20][5:6] == b"b"
    assert sorted({sample.step for sample in run.samples}) == [1, 2, 3]
    assert server.most == 6
    assert {sample.concurrency for sample in run.samples if sample.step == 2} == {6}


@pytest.mark.parametrize("workers", [1, 2])
async def test_steps_of_several_workers_stay_together(workers: int) -> None:
    async with scripted() as server:
        steps = (Step(concurrency=1, requests=10), Step(concurrency=4, requests=40), Step(concurrency=2, requests=11))
        run = await run_load(Plan((Target.parse(server.url),), steps, keepalive=True, workers=workers))
    assert run.last.requests == len(server.heads) == 61
    assert run.last.step == 3
    ends = {sample.step: sample.requests for sample in run.samples}
    assert ends == {1: 10, 2: 50, 3: 61}, "each step has a sample taken at its very end"
    assert run.total.count == 61


async def test_the_warm_up_is_left_out() -> None:
    async with scripted(pause_s=0.01) as server:
        began = time.monotonic()
        run = await run_load(plan(server.url, requests=30, concurrency=2, keepalive=True, warmup_s=1.0))
        took_s = time.monotonic() - began
    assert run.last.requests == run.total.count == 30
    assert len(server.heads) > 40
    assert LoadState.WARMUP in {sample.state for sample in run.samples}
    assert run.last.elapsed_s < took_s - 1.0


@pytest.mark.quiet("measures time")
async def test_the_waiting_time_is_the_servers_pause() -> None:
    async with scripted(pause_s=0.1) as server:
        run = await run_load(plan(server.url, requests=10, concurrency=2, keepalive=True))
    for part in (run.total, run.waiting):
        assert percentile(part, 10) == pytest.approx(100_000, rel=0.05)
    assert run.connect.count == 10
    assert run.connect.counts[0] == 8, "connecting takes no time on a reused connection"
