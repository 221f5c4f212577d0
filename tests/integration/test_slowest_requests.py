"""The slowest requests and the first failures of a real load, live and from the recording."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.loads.program import loadtop, summary_of
from tests.loads.scripted import OK, read_request, scripted

WORSE = b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\nSet-Cookie: id=hunter2\r\n\r\nno"


async def test_they_are_in_every_report_and_in_the_recording(tmp_path: Path) -> None:
    served = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        while (await read_request(reader))[0]:
            served += 1
            number = served
            if served % 90 == 0:  # without an answer
                writer.close()
                return
            await asyncio.sleep(0.2 if number % 20 == 0 else 0.001)
            head, body = (WORSE if number % 30 == 0 else OK).split(b"\r\n\r\n")
            writer.write(head + b"\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.1 if number % 20 == 0 else 0.0)
            writer.write(body)

    recording = tmp_path / "test.loadtop"
    async with scripted(handler=serve) as server:
        words = ("-q", "-n", "800", "-c", "4", "--workers", "2", "-v", "1", "-r", "--json", "-")
        done = await asyncio.to_thread(loadtop, *words, "--record", str(recording), f"{server.url}?token=hunter2")
    assert done.returncode == 0, done.stderr
    load = summary_of(done.stdout)["load"]
    slowest, failures = load["slowest"], load["first_failures"]
    totals = [each["total_ms"] for each in slowest]
    assert totals == sorted(totals, reverse=True)
    assert len(totals) == 20
    assert totals[0] == load["latency_ms"]["max"]
    late = [each for each in slowest if each["receiving_ms"] >= 99.0]
    assert len(late) > 10
    for each in late:
        assert each["waiting_ms"] >= 199.0
        phases = [each[f"{phase}_ms"] for phase in ("connect", "sending", "waiting", "receiving")]
        assert abs(sum(phases) - each["total_ms"]) < 0.01
    assert {(each["failure"], each["status"]) for each in failures} == {("status", 503), ("receive", None)}
    assert "HTTP/1.1 503 Busy" in next(each for each in failures if each["status"] == 503)["response_head"]

    report = await asyncio.to_thread(
        loadtop, "report", "--json", "-", "--html", str(tmp_path / "page.html"), str(recording)
    )
    again = json.loads(report.stdout)["load"]
    assert (again["slowest"], again["first_failures"]) == (slowest, failures)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in (done.stderr, page):
        assert "Slowest requests" in text
        assert "503" in text
    assert "hunter2" not in done.stdout + done.stderr + page
    assert b"hunter2" not in recording.read_bytes()


async def test_the_warm_up_is_left_out() -> None:
    """Its first request is the slowest of all."""
    served = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        while (await read_request(reader))[0]:
            served += 1
            await asyncio.sleep(1.0 if served == 1 else 0.002)
            writer.write(WORSE if served == 2 else OK)

    async with scripted(handler=serve) as server:
        words = ("-q", "-k", "--no-record", "--warmup", "2", "-n", "50", "--json", "-", server.url)
        done = await asyncio.to_thread(loadtop, *words)
    load = summary_of(done.stdout)["load"]
    assert len(load["slowest"]) == 20
    assert load["slowest"][0]["total_ms"] == load["latency_ms"]["max"] < 1000
    assert load["first_failures"] == []


@pytest.mark.parametrize("words", [("-k",), (), ("-k", "--rate", "200"), ("-p", "BODY")])
async def test_each_request_has_a_trace_id_and_the_slowest_name_theirs(words: tuple[str, ...], tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(bytes(50_000))
    given = [str(body) if word == "BODY" else word for word in words]
    async with scripted(pause_s=0.002) as server:
        words = ("-q", "--no-record", "--traceparent", "-n", "100", "-c", "5", "--workers", "2", "--json", "-")
        done = await asyncio.to_thread(loadtop, *words, *given, server.url)
    heads = b"".join(server.heads).decode()
    traces = re.findall(r"^traceparent: 00-([0-9a-f]{32})-([0-9a-f]{16})-01\r$", heads, re.MULTILINE)
    assert len(traces) == len(set(traces)) == 100
    assert all(int(trace_id, 16) and int(parent_id, 16) for trace_id, parent_id in traces)
    slowest = [each["trace_id"] for each in summary_of(done.stdout)["load"]["slowest"]]
    assert len(set(slowest)) == 20
    assert set(slowest) <= {trace_id for trace_id, _ in traces}
