"""The readers of load tools, with real output of each."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.engines.output import LineSplitter
from loadtop.engines.tools import TOOLS, ToolReader, milliseconds, number_after, reader_of_command, reader_of_line
from loadtop.model import Failures, LoadSample, ServerSeen, StatedTimes
from tests.unit.known import known

TEXTS = Path(__file__).parents[2] / "fixtures" / "engines"
NONE_FAILED = Failures.undivided(0)
NAMES = ("ab", "wrk", "siege", "hey", "oha", "k6", "jmeter")


def reader(*argv: str, lines: Iterable[str] = ()) -> ToolReader:
    """A reader of this command, which has printed these lines."""
    found = known(reader_of_command(argv))
    for line in lines:
        found.read(line)
    return found


def read(name: str, *argv: str) -> ToolReader:
    """A reader that has read a captured text."""
    splitter = LineSplitter()
    lines = [*splitter.feed((TEXTS / f"{name}.txt").read_bytes()), *splitter.feed(b"\n")]
    return reader(*(argv or (name.partition("-")[0],)), lines=lines)


def times(load: LoadSample, part: str = "total") -> StatedTimes:
    return next(each for each in load.stated if each.part == part)


def test_ab() -> None:
    tool = read("ab", "/usr/bin/ab", "-n", "400", "-c", "4", "http://h/")
    found = tool.load
    assert (found.requests, found.failures, found.non_2xx, found.concurrency) == (400, Failures(timeout=None), 0, 4)
    assert (tool.seconds, found.stated_rps) == (0.193, 2068.05)
    assert (found.received_bytes, found.body_bytes) == (445_600, 400_000)
    assert (found.target_requests, found.keepalive_requests, found.sent_bytes) == (400, None, None)
    assert times(found) == StatedTimes("total", 1, 2, 2.1, 1, 1, 2, 2, 4, 7, 9, 11, None, 16)
    assert times(found, "connect") == StatedTimes("connect", 0, 0, 0.0, 0, max_ms=0)


@pytest.mark.parametrize(
    ("command", "concurrency", "requests", "seconds", "keepalive"),
    [
        ("ab http://h/", 1, None, None, False),
        ("ab -k -c 7 -n 100 http://h/", 7, 100, None, True),
        ("ab -t 5 -n 100 http://h/", 1, None, 5, False),
        ("wrk -c 10 http://h/", 10, None, None, True),
        ("hey http://h/", 50, 200, None, True),
        ("hey -c 3 -n 7 -disable-keepalive http://h/", 3, 7, None, False),
        ("hey -z 2s -n 7 http://h/", 50, None, None, True),
        ("oha --disable-keepalive --duration 2s http://h/", 50, None, None, False),
        ("siege -c 4 http://h/", 4, None, None, None),
        ("siege -c 4 -r 3 http://h/", 4, 12, None, None),
    ],
)
def test_the_load_in_a_command_line(
    command: str, concurrency: int, requests: int | None, seconds: float | None, keepalive: bool | None
) -> None:
    load = reader(*command.split()).load
    assert (load.concurrency, load.target_requests, load.target_s) == (concurrency, requests, seconds)
    assert (load.keepalive, load.at, load.elapsed_s) == (keepalive, 0, 0)


@pytest.mark.parametrize(
    ("start", "line", "known_by_it"),
    [
        ("This is ApacheBench, Version 2.3", "Keep-Alive requests:    5", {"keepalive": True, "keepalive_requests": 5}),
        ("This is ApacheBench, Version 2.3", "Total body sent:        9", {"with_body": True, "sent_bytes": 9}),
        (
            "This is ApacheBench, Version 2.3",
            "HTML transferred:       9 bytes",
            {"with_body": False, "keepalive": None},
        ),
        ("Running 2s test @ http://h/", "Running 2s test @ http://h/", {"keepalive": True, "target_s": 2}),
        ("Running 2s test @ http://h/", "  9 requests in 2.00s, 9.00KB read", {"keepalive": None, "non_2xx": 0}),
    ],
)
def test_a_line_of_an_unknown_command(start: str, line: str, known_by_it: dict[str, object]) -> None:
    tool = known(reader_of_line(start))
    tool.read(line)
    assert {name: getattr(tool.load, name) for name in known_by_it} == known_by_it


def test_ab_reports_the_server() -> None:
    assert read("ab").load.server == ServerSeen("BaseHTTP/0.6", "127.0.0.1", 18765, "/", 1000)
    tool = reader("ab")
    lines = (
        "Benchmarking web1 [through cache:3128] (be patient).....done",
        "Server Software:        ",
        "Server Hostname:        web1",
        "Server Port:            443",
        "SSL/TLS Protocol:       TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256",
        "Server Temp Key:        X25519 253 bits",
        "TLS Server Name:        web1",
        "Document Path:          /a b",
    )
    for line in lines:
        tool.read(line)
    assert tool.load.server is None
    tool.read("Document Length:        Variable")
    tls = "TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256"
    seen = ServerSeen("", "web1", 443, "/a b", tls=tls, tls_key="X25519 253 bits", tls_name="web1", proxy="cache:3128")
    assert tool.load.server == seen


def test_ab_with_a_body_and_errors() -> None:
    found = read("ab-post").load
    assert (found.non_2xx, found.sent_bytes, found.with_body, found.keepalive_requests) == (400, 62_800, True, 0)


def test_failures_of_ab_have_classes() -> None:
    tool = reader("ab")
    tool.read("Failed requests:        5")
    assert tool.load.failures == Failures.undivided(5)
    tool.read("   (Connect: 1, Receive: 0, Length: 3, Exceptions: 1)")
    assert tool.load.failures == Failures(connect=1, length=3, exceptions=1, timeout=None)


def test_progress_of_ab() -> None:
    tool = reader("ab", "-t", "5", "-n", "9")
    tool.read("Completed 100 requests")
    assert (tool.load.requests, tool.load.failures, tool.final) == (100, None, False)
    assert (tool.load.target_requests, tool.load.target_s) == (None, 5)


def test_wrk() -> None:
    tool = read("wrk")
    found = tool.load
    assert (found.requests, found.failures, found.non_2xx, found.concurrency) == (92, Failures(length=None), 0, 4)
    assert (tool.seconds, found.stated_rps, found.target_s) == (1.0, 91.94, 1.0)
    assert found.received_bytes == round(100.53 * 1024)
    assert times(found) == StatedTimes(
        "total", None, 42.95, 9.22, 43.99, p75_ms=44.06, p90_ms=47.96, p99_ms=51.9, max_ms=51.9
    )
    assert read("wrk-errors").load.non_2xx == 92


def test_socket_errors_of_wrk() -> None:
    lines = ("  9 requests in 1.00m, 1.5MB read", "  Socket errors: connect 1, read 2, write 3, timeout 4")
    tool = reader("wrk", lines=lines)
    assert tool.load.failures == Failures(connect=1, receive=2, length=None, exceptions=3, timeout=4)
    assert (tool.seconds, tool.load.received_bytes) == (60.0, 1_572_864)


def test_hey() -> None:
    found = read("hey").load
    assert (found.requests, found.failures, found.non_2xx, found.stated_rps) == (400, NONE_FAILED, 0, 90.6924)
    assert (times(found).p99_ms, times(found).mean_ms, times(found).max_ms) == (49.1, 43.9, 52.0)
    assert read("hey-errors").load.non_2xx == 40
    refused = read("hey-refused").load
    assert (refused.requests, refused.failures, refused.stated) == (4, Failures.undivided(4), ())


def test_oha() -> None:
    found = read("oha").load
    assert (found.requests, found.failures, found.non_2xx, found.stated_rps) == (400, NONE_FAILED, 0, 91.1516)
    assert (times(found).p50_ms, times(found).p99_9_ms) == (43.9932, 48.3588)
    refused = read("oha-refused").load
    assert (refused.requests, refused.failures, refused.stated) == (20, Failures.undivided(20), ())


def test_requests_cut_off_by_oha_have_not_failed() -> None:
    lines = (
        "  Requests/sec:\t91.1516",
        "  [200] 46928 responses",
        "  [4] aborted due to deadline",
        "  [2] Connection reset",
    )
    tool = reader("oha", "-z", "2s", lines=lines)
    assert (tool.load.requests, tool.load.failures) == (46_930, Failures.undivided(2))


def test_a_second_summary_counts_again() -> None:
    """A script may run its tool more than once."""
    lines = ("  Requests/sec:\t9", "  [200]\t8 responses", "  [2] Connection reset", "  [3] timed out")
    tool = reader("hey", lines=(*lines, *lines))
    assert (tool.load.requests, tool.load.failed) == (13, 5)


def test_errors_are_those_of_the_summary() -> None:
    assert reader("hey", lines=["  [2] Connection reset"]).load.requests is None


@pytest.mark.parametrize(("name", "requests"), [("siege", 9), ("siege-json", 80)])
def test_siege(name: str, requests: int) -> None:
    tool = read(name)
    found = tool.load
    assert (found.requests, found.failures, tool.final) == (requests, NONE_FAILED, True)
    assert found.stated_rps == {"siege": 900.0, "siege-json": 2000.0}[name]
    assert found.body_bytes == round({"siege": 0.01, "siege-json": 0.08}[name] * 1024**2)
    assert times(found).max_ms == 10.0


def test_progress_of_siege() -> None:
    tool = reader("siege", "-c", "4", "-r", "20")
    tool.read("HTTP/1.1 200     0.00 secs:    1000 bytes ==> GET  /")
    tool.read("The server is now under siege: 4 users")
    tool.read("HTTP/1.1 503     0.01 secs:      10 bytes ==> GET  /")
    tool.read("HTTP/1.1 503     0.01 secs:      10 bytes ==> GET  /")
    assert (tool.load.requests, tool.load.non_2xx, tool.load.body_bytes) == (3, 2, 1020)
    assert (tool.load.target_requests, tool.final) == (80, False)
    tool.read("Transactions:                  9 hits")
    tool.read("HTTP/1.1 200     0.00 secs:    1000 bytes ==> GET  /")  # printed by another of its threads
    assert (tool.load.requests, tool.final) == (9, True)


def test_k6() -> None:
    found = read("k6").load
    assert (found.requests, found.failures, found.stated_rps) == (268, NONE_FAILED, 89.205456)
    assert (found.received_bytes, found.sent_bytes, found.target_s) == (299_000, 19_000, 3.0)
    assert (times(found).p50_ms, times(found).p95_ms, times(found).max_ms) == (44.07, 51.6, 57.09)


def test_iterations_of_k6_are_not_requests() -> None:
    tool = reader("k6")
    tool.read("running (01.0s), 3/4 VUs, 88 complete and 0 interrupted iterations")
    assert (tool.load.requests, tool.load.concurrency) == (None, 4)


def test_jmeter() -> None:
    tool = reader("/opt/jmeter/bin/jmeter.sh", "-n")
    for line in (
        "Creating summariser <summary>",
        "summary +    812 in 00:00:16 =   50.9/s Avg:    24 Min:     1 Max:   345 Err:     2 (0.25%) Active: 10 Started: 10 Finished: 0",  # noqa: E501 - as JMeter prints it
        "summary +   1500 in 00:00:30 =   50.0/s Avg:    20 Min:     1 Max:   100 Err:     1 (0.07%) Active: 0 Started: 10 Finished: 10",  # noqa: E501 - as above
        "summary =   2312 in 00:00:46 =   50.3/s Avg:    21 Min:     1 Max:   345 Err:     3 (0.13%)",
    ):
        tool.read(line)
    found = tool.load
    assert (found.requests, found.failures, tool.seconds, found.stated_rps) == (2312, Failures.undivided(3), 46.0, 50.3)
    assert times(found) == StatedTimes("total", 1.0, 21.0, max_ms=345.0)
    assert (found.concurrency, tool.final) == (10, False)
    tool.read("... end of run")
    assert tool.final
    tool.read("summary =     50 in 00:00:00 =  125.0/s Avg:     5 Min:     2 Max:    54 Err:     0 (0.00%)")
    assert tool.seconds == 0.4


@pytest.mark.parametrize(("clock", "seconds"), [("01:02:03", 3723), ("00:01:30", 90), ("90", 90)])
def test_the_clock_of_jmeter(clock: str, seconds: float) -> None:
    line = f"summary = 50 in {clock} = 125.0/s Avg: 5 Min: 2 Max: 54 Err: 0 (0.00%)"
    assert reader("jmeter", lines=[line]).seconds == seconds


def test_of_jmeters_lines_for_a_while_only_the_first_is_the_whole() -> None:
    tool = reader("jmeter")
    found: list[int | None] = []
    for sign, requests in (("+", 800), ("+", 1500), ("=", 2300), ("+", 100)):
        tool.read(f"summary {sign} {requests} in 00:00:16 = 50.0/s Avg: 24 Min: 1 Max: 345 Err: 0 (0.00%)")
        found.append(tool.load.requests)
    assert found == [800, 800, 2300, 2300]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("wrk", ["    Latency     0.00us    0.00us   0.00us    -nan%", "  0 requests in 1.00s, 0.00B read"]),
        ("siege", ["Transactions:  0 hits", "Response time:  0.00 secs", "Longest transaction:  0.00"]),
        ("k6", [
            "    http_req_duration..............: avg=0s min=0s med=0s max=0s p(90)=0s p(95)=0s",
            "    http_req_failed................: 100.00% 0 out of 0",
            "    http_reqs......................: 0    0/s",
        ]),
        ("jmeter", [
            "summary =      0 in 00:00:00 = ******/s Avg: 0 Min: 9223372036854775807 Max: -9223372036854775808 Err: 0 ",
        ]),
    ],
)  # fmt: skip
def test_without_requests_there_are_no_times(name: str, lines: list[str]) -> None:
    tool = reader(name, lines=lines)
    assert (tool.load.requests, tool.load.stated) == (0, ())


@pytest.mark.parametrize("name", ["ab", "wrk", "hey", "oha", "k6", "siege"])
def test_a_tool_is_recognised_by_its_output(name: str) -> None:
    lines = (TEXTS / f"{name}.txt").read_text().splitlines()
    found = next((tool.name for line in lines if (tool := reader_of_line(line)) is not None), None)
    assert found == name


def test_other_commands_are_not_tools() -> None:
    assert reader_of_command(("sh", "-c", "ab")) is None
    assert reader_of_line("Summary: all is well") is None
    assert {tool.name for tool in TOOLS} == set(NAMES)


@given(st.sampled_from(NAMES), st.lists(st.text(max_size=60), max_size=20))
def test_nothing_that_is_printed_breaks_a_reader(name: str, lines: list[str]) -> None:
    reader(name, lines=lines)


@pytest.mark.parametrize("path", sorted(TEXTS.glob("*.txt")), ids=lambda path: path.stem)
@pytest.mark.parametrize("digit", ["x", "", "-", ".", "é", "999999999999999999999", "NaN"])
def test_damaged_output_breaks_no_reader(path: Path, digit: str) -> None:
    tool = reader(path.stem.partition("-")[0])
    for line in path.read_text().splitlines():
        for cut in (0, 3, len(line) // 2):
            tool.read(re.sub(r"\d", digit, line)[cut:])
            tool.read(re.sub(r"\d+", digit, line)[cut:])
    json.dumps([msgspec.to_builtins(tool.load), tool.seconds], allow_nan=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("4.2ms", 4.2), ("0.0440 secs", 44.0), ("1m30.5s", 90_500.0), ("12us", 0.012), ("NaN ns", None), ("", None)),
        *(("7ns", 7e-6), ("1.4ns", 1e-6), ("7µs", 0.007), ("7μs", 0.007), ("2h", 7.2e6), ("3 sec", 3e3)),
        *(("3s", 3e3), ("3 seconds", 3e3), ("2m", 1.2e5)),
    ],
)
def test_durations(text: str, expected: float | None) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("-c", "10"), 10), (("-c10",), 10), (("--connections=7",), 7), (("--connections", "8"), 8), (("-c",), None)],
)
def test_numbers_of_a_command_line(words: tuple[str, ...], expected: int | None) -> None:
    assert number_after(("wrk", *words), "-c", "--connections") == expected


def test_a_number_beyond_all_measure_is_damage() -> None:
    tool = reader("ab")
    for digits in (2**64 - 1, "9" * 21, "9" * 4000):  # the first is the greatest of 64 bits
        tool.read(f"Complete requests:      {digits}")
    assert tool.load.requests == 2**64 - 1
    damaged = f"  Socket errors: connect 1, read {'9' * 21}, write 3, timeout 4"
    assert reader("wrk", lines=[damaged]).load.failures is None
