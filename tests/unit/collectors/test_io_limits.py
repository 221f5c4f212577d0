"""Limits of control groups on devices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.linux.devices import DISKSTATS
from collectors.linux.io_limits import FILES, MOST_LIMITS, read_limits
from collectors.machine import Missing, Reading
from loadtop.model import IoLimit, Limited

NEWER = {
    "/g/io.max": "254:0 rbps=2097152 wbps=max riops=max wiops=60\n8:16 rbps=max wbps=max riops=max wiops=max\n",
    "/g/io.stat": "254:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n8:16 rbytes=1 rios=2\n",
    "/io.max": "7:1 riops=5\n",
    "/io.stat": "7:1 rbytes=9 wbytes=9 rios=3 wios=9 cost.usage=12\n",
    DISKSTATS: "   7       1 loop1 1 0 8 0 0 0 0 0 0 0 0\n 254       0 vda 1 0 8 0 0 0 0 0 0 0 0\n",
}
THROTTLE = "/g/blkio.throttle."
OLDER = {
    f"{THROTTLE}read_bps_device": "254:0 2097152\n",
    f"{THROTTLE}write_iops_device": "254:0 60\n7:1 70\n",
    f"{THROTTLE}io_serviced": "254:0 Read 192\n254:0 Write 353\n254:0 Sync 1\n254:0 Total 545\nTotal 545\n",
    f"{THROTTLE}io_service_bytes": "254:0 Read 1459200\n254:0 Write 314773504\nTotal 3\n",
    DISKSTATS: NEWER[DISKSTATS],
}
FOUND = (
    IoLimit("vda", "/g", Limited.WRITES, 60, 353),
    IoLimit("vda", "/g", Limited.READ_BYTES, 2_097_152, 1_459_200),
)


def limits(texts: dict[str, str | Missing], version: int, *directories: str) -> set[IoLimit]:
    return set(read_limits(Reading(1.0, texts), directories, version))


def test_version_2() -> None:
    assert limits(dict(NEWER), 2, "/g") == set(FOUND)
    assert limits(dict(NEWER), 2, "/g", "") == {*FOUND, IoLimit("loop1", "", Limited.READS, 5, 3)}


def test_devices_that_were_never_used_share_a_line_in_linux_5_15() -> None:
    stat = NEWER["/g/io.stat"]
    assert limits({**NEWER, "/g/io.stat": f"7:7 7:6 {stat}"}, 2, "/g") == set(FOUND)
    assert limits({**NEWER, "/g/io.stat": f"{stat.splitlines()[0]} 7:7 {'7:6 ' * 2000}"}, 2, "/g") == set()
    assert limits({**NEWER, "/g/io.stat": f"{stat.splitlines()[0]} 7:7 {'7:6 ' * 2000}\n"}, 2, "/g") == set(FOUND)


def test_version_1() -> None:
    """A limit on a device from which nothing was ever wanted has no counter."""
    assert limits(dict(OLDER), 1, "/g") == set(FOUND)


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_missing_has_no_limit(version: int) -> None:
    assert limits({}, version, "/g") == set()
    gone = {f"/g/{name}": Missing("no such file") for name in FILES[version]}
    assert limits(dict(gone), version, "/g") == set()


def test_a_device_without_a_name_keeps_its_number() -> None:
    found = limits({**NEWER, DISKSTATS: Missing("no such file")}, 2, "/g")
    assert {each.device for each in found} == {"254:0"}


def test_there_are_not_too_many() -> None:
    numbers = range(1, 10_000)
    most = "".join(f"8:{number} riops=1 wiops=1\n" for number in numbers)
    done = "".join(f"8:{number} rios=1 wios=1\n" for number in numbers)
    assert len(limits({"/g/io.max": most, "/g/io.stat": done}, 2, "/g")) == MOST_LIMITS


@given(st.text(alphabet="0123456789: =maxrwiopsbyteRdWe\n"), st.sampled_from([1, 2]))
def test_any_text_is_read(text: str, version: int) -> None:
    limits({f"/g/{name}": text for name in FILES[version]}, version, "/g")
