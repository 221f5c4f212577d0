"""``loadtop watch -- TOOL``: the results in our summary are those that the tool printed."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.loads.program import loadtop, summary_of
from tests.servers.apache import Apache, ApacheFactory

Json = dict[str, Any]
Reading = tuple[str, Callable[[str], float]]
"""The place of a value in the output (the first group), and the conversion to our unit."""

UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, " secs": 1000.0}
KILO = {"": 1, "K": 1024, "M": 1024**2}


def run(*command: str) -> tuple[Json, str]:
    """Return our summary of the load, with the URL, and what the tool printed."""
    done = loadtop("watch", "--no-record", "--json", "-", "--", *command)
    assert done.returncode == 0, done.stderr
    summary = summary_of(done.stdout)
    return {"url": summary["url"], **summary["load"]}, done.stderr


def number(text: str) -> float:
    return float(text)


def duration(text: str) -> float:
    """Parse ``1.20ms`` or ``0.0012 secs`` in milliseconds."""
    found = re.fullmatch(r"([\d.]+)(.*)", text)
    assert found is not None
    return float(found[1]) * UNITS_MS[found[2]]


def seconds(text: str) -> float:
    return 1000.0 * float(text)


def kilobytes(text: str) -> float:
    """Parse ``1.20M`` in bytes, as wrk counts them."""
    found = re.fullmatch(r"([\d.]+)([KM]?)", text)
    assert found is not None
    return round(float(found[1]) * KILO[found[2]])


def compare(load: Json, said: str, readings: Mapping[str, Reading]) -> None:
    """Assert that each of these values of the summary is the one that was printed."""
    printed: Json = {}
    ours: Json = {}
    for place, (pattern, unit) in readings.items():
        found = re.search(pattern, said, re.MULTILINE)
        assert found is not None, (pattern, said)
        printed[place] = pytest.approx(unit(found[1]), abs=0.0006)  # ours have three digits
        part, _, name = place.partition(".")
        ours[place] = load[part][name] if name else load[part]
    assert ours == printed, said


def the_rest_is_unknown(load: Json, readings: Mapping[str, Reading]) -> None:
    """Assert that statistics that were not printed are not measured."""
    for part in ("latency_ms", "connect_ms", "processing_ms", "waiting_ms"):
        known = {place.partition(".")[2] for place in readings if place.startswith(f"{part}.")}
        if known:
            assert {name for name, value in load[part].items() if value is not None} == known
        else:
            assert load[part] is None


def row(label: str, place: int) -> str:
    """Return the reading of a cell of ab's table of times."""
    before = r"\s+".join([r"[\d.]+"] * place + [r"([\d.]+)"])
    return rf"^{label}:\s+{before}(?:\s|$)"


AB: dict[str, Reading] = {
    "concurrency": (r"^Concurrency Level:\s+(\d+)", number),
    "requests": (r"^Complete requests:\s+(\d+)", number),
    "failed": (r"^Failed requests:\s+(\d+)", number),
    "failures.connect": (r"^   \(Connect: (\d+)", number),
    "failures.receive": (r"Receive: (\d+)", number),
    "failures.length": (r"Length: (\d+)", number),
    "failures.exceptions": (r"Exceptions: (\d+)\)", number),
    "keepalive_requests": (r"^Keep-Alive requests:\s+(\d+)", number),
    "received_bytes": (r"^Total transferred:\s+(\d+)", number),
    "body_bytes": (r"^HTML transferred:\s+(\d+)", number),
    "rps": (r"^Requests per second:\s+([\d.]+)", number),
    **{
        f"{part}_ms.{name}": (row(label, place), number)
        for label, part in (("Connect", "connect"), ("Processing", "processing"), ("Waiting", "waiting"))
        for place, name in enumerate(("min", "mean", "sd", "median", "max"))
    },
    **{f"latency_ms.{name}": (row("Total", place), number) for place, name in enumerate(("min", "mean", "sd"))},
    **{f"latency_ms.p{percent}": (rf"^ +{percent}% +(\d+)$", number) for percent in (50, 66, 75, 80, 90, 95, 98, 99)},
    "latency_ms.max": (r"^ 100% +(\d+) \(longest request\)$", number),
}
WRK: dict[str, Reading] = {
    "concurrency": (r"threads? and (\d+) connections", number),
    "requests": (r"^ +(\d+) requests in", number),
    "received_bytes": (r"requests in \S+, ([\d.]+[KM]?)B read", kilobytes),
    "non_2xx": (r"Non-2xx or 3xx responses: (\d+)", number),
    "rps": (r"^Requests/sec: +([\d.]+)", number),
    "latency_ms.mean": (r"^ +Latency +(\S+)", duration),
    "latency_ms.sd": (r"^ +Latency +\S+ +(\S+)", duration),
    "latency_ms.max": (r"^ +Latency +\S+ +\S+ +(\S+)", duration),
    **{f"latency_ms.p{percent}": (rf"^ +{percent}% +(\S+)$", duration) for percent in (50, 75, 90, 99)},
}
HEY: dict[str, Reading] = {
    "requests": (r"\[200\]\s+(\d+) responses", number),
    "body_bytes": (r"Total data:\s+(\d+) bytes", number),
    "rps": (r"Requests/sec:\s+([\d.]+)", number),
    "latency_ms.max": (r"Slowest:\s+([\d.]+ secs)", duration),
    "latency_ms.min": (r"Fastest:\s+([\d.]+ secs)", duration),
    "latency_ms.mean": (r"Average:\s+([\d.]+ secs)", duration),
    **{f"latency_ms.p{percent}": (rf"{percent}%+ in ([\d.]+ secs)", duration) for percent in (50, 75, 90, 95, 99)},
}
SIEGE: dict[str, Reading] = {
    "requests": (r"[Tt]ransactions\"?:\s+(\d+)", number),
    "failed": (r"[Ff]ailed.transactions\"?:\s+(\d+)", number),
    "body_bytes": (r"[Dd]ata.transferred\"?:\s+([\d.]+)", lambda text: round(float(text) * 1024**2)),
    "rps": (r"[Tt]ransaction.rate\"?:\s+([\d.]+)", number),
    "latency_ms.mean": (r"[Rr]esponse.time\"?:\s+([\d.]+)", seconds),
    "latency_ms.max": (r"[Ll]ongest.transaction\"?:\s+([\d.]+)", seconds),
    "latency_ms.min": (r"[Ss]hortest.transaction\"?:\s+([\d.]+)", seconds),
}


def test_ab(apache: ApacheFactory) -> None:
    # Answers of different lengths fail in ab's eyes.
    server = apache(mpm="prefork", php="mod", pages={"any.php": "<?= str_repeat('x', random_int(1, 3)) ?>"})
    load, said = run("ab", "-k", "-n", "1500", "-c", "4", f"{server.url}any.php")
    compare(load, said, AB)
    the_rest_is_unknown(load, AB)
    assert (load["requests"], load["non_2xx"], load["keepalive"]) == (len(server.logged()), 0, True)
    assert load["failures"]["length"] == load["failed"] > 0
    assert (load["url"], load["latency_source"], load["state"]) == (f"{server.url}any.php", "stated", "done")
    assert (load["failures"]["timeout"], load["failures"]["unclassified"]) == (None, 0)


def test_wrk(web: Apache) -> None:
    load, said = run("wrk", "-t1", "-c4", "-d1s", "--latency", f"{web.url}none.html")
    compare(load, said, WRK)
    the_rest_is_unknown(load, WRK)
    assert load["non_2xx"] == load["requests"] > 0
    assert (load["failed"], load["failures"]["connect"], load["failures"]["length"]) == (0, 0, None)


@pytest.mark.parametrize(
    ("words", "readings"),
    [(("hey", "-n", "300", "-c", "3"), HEY), (("siege", "-c", "3", "-r", "20", "-b"), SIEGE)],
    ids=["hey", "siege"],
)
def test_other_tools(apache: ApacheFactory, words: tuple[str, ...], readings: Mapping[str, Reading]) -> None:
    server = apache(pages={"a.html": "x" * 1000})
    load, said = run(*words, f"{server.url}a.html")
    compare(load, said, readings)
    the_rest_is_unknown(load, readings)
    assert (load["engine"], load["requests"], load["failed"]) == (words[0], len(server.logged()), 0)
    nothing = dict.fromkeys(("connect", "receive", "length", "exceptions", "timeout"))
    assert load["failures"] == {**nothing, "unclassified": 0}
