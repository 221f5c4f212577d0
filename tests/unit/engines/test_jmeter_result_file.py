"""JMeter's rows: a captured result file, cut anywhere, and rows that are damaged."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.engines.jmeter.result_file import MAX_ROW, ResultReader, Results
from loadtop.generator.notable import MOST_KINDS, MOST_SLOW
from loadtop.i18n import verbatim
from loadtop.model import RequestRecord
from loadtop.model.histogram import percentile
from tests.unit.known import known

CAPTURED = Path(__file__).parents[2] / "fixtures" / "engines" / "jmeter.csv"
ROW = "1,{elapsed},/,{code},{words},{thread},{success},10,5,2,2,3,1\n"


def read(text: str) -> tuple[Results, ResultReader]:
    results = Results()
    reader = ResultReader(results)
    reader.feed(text.encode())
    return results, reader


def row(elapsed: int = 4, code: str = "200", words: str = "OK", thread: str = "s1 1-1", success: str = "true") -> str:
    return ROW.format(elapsed=elapsed, code=code, words=words, thread=thread, success=success)


def test_a_captured_file() -> None:
    results, reader = read(CAPTURED.read_text())
    assert (results.requests, results.non_2xx, results.step) == (16, 8, 1)
    assert (results.failures.connect, results.failures.unclassified, results.failures.total) == (4, 3, 7)
    assert (results.failures.length, results.failures.timeout) == (None, 0)
    # Of a request without an answer, JMeter counts its own words as bytes.
    assert (results.received_bytes, results.sent_bytes) == (4 * 155 + 3 * 339 + 5 * 338, 4 * 100 + 3 * 111 + 5 * 101)
    assert reader.threads == 1
    assert results.error == "/: Connect to 127.0.0.1:1 [/127.0.0.1] failed: Connection refused"
    found = known(results.latencies())
    assert found.connect is not None
    assert (found.total.count, found.total.min_us, found.total.max_us, found.total.sum_us) == (16, 0, 25_000, 57_000)
    # A request without an answer has no parts.
    assert (found.connect.max_us, found.connect.count) == (13_000, 12)
    assert found.waiting is not None
    assert found.waiting.count == 12
    assert percentile(found.total, 50) == pytest.approx(1000, rel=0.01)
    assert results.latencies() is None


@pytest.mark.parametrize(
    ("elapsed", "latency", "connect", "parts"),
    [
        (9, 7, 2, (2, 7, 5)),
        (9, 1, 2, (2, 7, 0)),  # the first byte cannot come before the connection
        (9, 7, 12, (9, 0, 0)),  # nor can connecting last longer than all
    ],
)
def test_the_parts_of_a_time(elapsed: int, latency: int, connect: int, parts: tuple[int, int, int]) -> None:
    results, _ = read(row(elapsed).replace(",3,1\n", f",{latency},{connect}\n") + row()[:-1])
    found = known(results.latencies())
    one = [known(part) for part in (found.connect, found.processing, found.waiting)]
    assert tuple(part.max_us // 1000 for part in one) == parts
    assert [part.count for part in (found.total, *one)] == [1] * 4


def test_the_slowest_requests_and_the_first_failure_of_each_kind_are_noted() -> None:
    gone = row(
        6, "Non HTTP response code: java.net.SocketException", "Non HTTP response message: gone", success="false"
    )
    wrong = row(5, words="x" * 300, success="false").replace("/", "y" * 300)
    results, _ = read(row(9).replace("2,3,1", "2,7,2") + row(8).replace("2,3,1", "2,99,20") + gone * 2 + wrong)
    first, second, *_ = results.noted().slowest
    assert first == RequestRecord(0.001, "", "/", 9.0, 2.0, None, 5.0, 2.0, 200)
    assert second == RequestRecord(0.001, "", "/", 8.0, 8.0, None, 0.0, 0.0, 200)
    receive, unclassified = results.noted().failures
    assert receive == RequestRecord(0.001, "", "/", 6.0, failure="receive", reason=verbatim("gone"))
    assert (unclassified.failure, len(str(unclassified.reason)), len(unclassified.url)) == ("unclassified", 200, 200)


def test_of_requests_that_took_equally_long_the_first_are_noted() -> None:
    results, _ = read("".join(f"{number}{row(4)[1:]}" for number in range(1000, 1000 + 2 * MOST_SLOW)))
    assert [each.started for each in results.noted().slowest] == [1 + number / 1000 for number in range(MOST_SLOW)]
    assert len(read("".join(row(code=str(400 + n), success="false") for n in range(99)))[0].noted().failures) == (
        MOST_KINDS
    )


def test_a_failure_is_reported_in_200_characters() -> None:
    assert read(row())[0].error == ""
    assert read(row(words="x" * 197, success="false"))[0].error == "/: " + "x" * 197
    assert read(row(words="x" * 300, success="false"))[0].error == "/: " + "x" * 197


@given(st.lists(st.integers(1, 400), max_size=40))
def test_it_may_be_cut_anywhere(pieces: list[int]) -> None:
    data = CAPTURED.read_bytes()
    results = Results()
    reader = ResultReader(results)
    for size in pieces:
        reader.feed(data[:size])
        data = data[size:]
    reader.feed(data)
    assert (results.requests, results.failures.total) == (16, 7)


@given(st.binary(max_size=200))
def test_anything_else_is_not_a_request(data: bytes) -> None:
    results = Results()
    ResultReader(results).feed(data.replace(b",", b";") + b"\n")
    assert (results.requests, results.latencies()) == (0, None)


def test_a_message_of_two_lines_is_one_row() -> None:
    results, _ = read(row(code="500", words='"oh, ""no""\nagain"', success="false") + row())
    assert results.requests == 2
    assert results.error == '/: oh, "no"\nagain'


def test_steps_and_the_warm_up_are_reported_by_threads() -> None:
    results, _ = read(row(thread="s0 1-1") + row(thread="s1 2-1") + row(thread="10.0.0.1-s2 3-1"))
    assert (results.requests, results.step) == (2, 2)


def test_sums_of_transactions_are_not_requests() -> None:
    results, _ = read(row() + row(words='"Number of samples in transaction : 1, number of failing samples : 0"'))
    assert results.requests == 1


def test_old_versions_know_no_sent_bytes() -> None:
    results, reader = read("1,7,/,200,OK,s1 1-1,true,10,2,3,5,1\n")
    assert (results.requests, results.received_bytes, results.sent_bytes, reader.threads) == (1, 10, None, 3)


@pytest.mark.parametrize(
    ("exception", "name"),
    [
        ("SocketTimeoutException", "timeout"),
        ("HttpHostConnectException", "connect"),
        ("SocketException", "receive"),
        ("OtherException", "exceptions"),
    ],
)
def test_the_failures(exception: str, name: str) -> None:
    code = f"Non HTTP response code: java.net.{exception}"
    results, _ = read(row(code=code, words="no", success="false"))
    assert getattr(results.failures, name) == results.failures.total == 1
    assert (results.non_2xx, results.received_bytes) == (0, None)


@pytest.mark.parametrize("start", ["", '1,4,"'])
def test_rows_without_end_are_left_out(start: str) -> None:
    results, reader = read(row() + start)
    tracemalloc.start()
    try:
        for _ in range(2000):
            reader.feed(b"x" * 10_000 + (b"\n" if start else b""))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 20 * MAX_ROW
    reader.feed(b"\n" + (row() + row()).encode())
    assert results.requests == 3


def test_the_longest_row_counts_and_the_end_of_a_longer_one_does_not() -> None:
    results = Results()
    reader = ResultReader(results)
    longest = row(words="x" * (MAX_ROW - len(row(words="")) + 1))
    reader.feed(longest[:-1].encode())
    reader.feed(b"\n")
    assert results.requests == 1
    reader.feed(f"x{longest[:-1]}".encode())
    reader.feed(row().encode())  # the rest of it
    assert results.requests == 1
    reader.feed(row().encode())
    assert results.requests == 2


def test_columns_that_we_did_not_ask_for_are_left_out() -> None:
    results, reader = read(row()[:-1] + ",more\n")
    assert (results.requests, reader.threads) == (1, 2)


@pytest.mark.parametrize("elapsed", ["-5", " 5", "+5", "1_0", "\u0665", ""])
def test_what_is_not_a_number_is_damage(elapsed: str) -> None:
    assert read(row().replace("1,4,", f"1,{elapsed},"))[0].requests == 0


def test_numbers_beyond_all_measure_are_damage() -> None:
    assert read(row(elapsed=10**14))[0].requests == 1
    assert read(row(elapsed=10**15))[0].requests == 0
    digits = "9" * 4000
    results, _ = read(row() + row().replace("1,4,", f"1,{digits},") + row().replace(",10,", f",{digits},"))
    assert (results.requests, results.received_bytes) == (2, 10)
    assert results.latencies() is not None


def test_the_slowest_requests_and_the_first_failures_are_kept() -> None:
    rows = [row(elapsed=elapsed) for elapsed in range(40)]
    rows += [row(elapsed=7, code="503", words="Busy", success="false"), row(elapsed=3, code="503", success="false")]
    results, _ = read("".join(rows))
    found = results.noted()
    assert [record.total_ms for record in found.slowest] == [float(39 - i) for i in range(20)]
    (failure,) = found.failures
    assert (failure.failure, failure.status, str(failure.reason), failure.total_ms) == ("status", 503, "Busy", 7.0)
    assert failure.sending_ms is None
