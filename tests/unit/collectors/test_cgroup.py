"""Control groups of version 1 and 2: where a process is, and the tightest limit above it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import ParseError
from collectors.linux import cgroup
from collectors.linux.cgroup import Mount, locate, parse_membership, parse_mounts
from collectors.linux.machine import SLOW_EVERY, LinuxMachine
from collectors.machine import Reading
from collectors.servers import KINDS
from loadtop.model import CgroupLimits, HostSample, IoLimit, Limited, Pressure, State
from tests.unit.collectors.texts import machine_of_texts, stat_text
from tests.unit.known import known

V2 = (Mount("/sys/fs/cgroup", "/", frozenset({""})),)
V1 = (
    Mount("/sys/fs/cgroup/unified", "/", frozenset({""})),
    Mount("/sys/fs/cgroup/cpu,cpuacct", "/", frozenset({"rw", "cpu", "cpuacct"})),
    Mount("/sys/fs/cgroup/memory", "/", frozenset({"rw", "memory"})),
)
MOUNTINFO = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw
30 22 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 none rw
33 30 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw shared:13 master:7 - cgroup none rw,cpu,cpuacct
34 30 0:31 / /sys/fs/cgroup/my\040memory rw - cgroup none rw,memory
""".lstrip()


def limits(files: dict[str, str], membership: str, mounts: tuple[Mount, ...]) -> CgroupLimits:
    place = known(locate(parse_membership(membership), mounts))
    assert {wanted.path for wanted in place.files()} >= set(files)
    return cgroup.read_limits(Reading(1.0, files), place)


def test_membership() -> None:
    text = "12:cpu,cpuacct:/a\n11:memory:/a/b:c\n1:name=systemd:/init\n0::/user.slice\n"
    groups = {"cpu": "/a", "cpuacct": "/a", "memory": "/a/b:c", "name=systemd": "/init", "": "/user.slice"}
    assert parse_membership(text) == groups


@pytest.mark.parametrize("line", ["1:cpu", "x:cpu:/a", ":cpu:/a", "1:cpu:a", "1", ""])
def test_not_a_membership(line: str) -> None:
    with pytest.raises(ParseError):
        parse_membership(f"{line}\n")


def test_a_group_of_the_processor_alone() -> None:
    place = known(locate({"cpu": "/a"}, V1))
    assert (place.path, place.version, place.memory) == ("/a", 1, ())


def test_mounts() -> None:
    assert parse_mounts(MOUNTINFO) == (
        Mount("/sys/fs/cgroup/unified", "/", frozenset({""})),
        Mount("/sys/fs/cgroup/cpu,cpuacct", "/docker/abc", frozenset({"rw", "cpu", "cpuacct"})),
        Mount("/sys/fs/cgroup/my memory", "/", frozenset({"rw", "memory"})),
    )


@given(st.text(alphabet="0:/ab,\n.", max_size=60), st.text(alphabet="/ab.", min_size=1, max_size=20))
def test_a_place_is_always_below_its_mount(text: str, top: str) -> None:
    mounts = (Mount("/sys/fs/cgroup", top, frozenset({""})), Mount("/cpu", top, frozenset({"cpu"})))
    with suppress(ParseError):
        place = locate(parse_membership(text), mounts)
        for wanted in place.files() if place else ():
            assert wanted.path.startswith(("/sys/fs/cgroup/", "/cpu/"))
            assert "/../" not in wanted.path


def test_the_own_group_and_all_above_it() -> None:
    place = known(locate({"": "/system.slice/httpd.service"}, V2))
    groups = ("/sys/fs/cgroup/system.slice/httpd.service", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup")
    assert place.cpu == place.memory == groups


def test_a_group_that_is_not_below_the_mount() -> None:
    part = (Mount("/sys/fs/cgroup", "/docker/abc", frozenset({""})),)
    assert locate({"": "/docker/abcd"}, part) is None
    assert locate({"": "/../x"}, V2) is None
    assert locate({"": "/x"}, ()) is None
    place = known(locate({"": "/docker/abc/web"}, part))
    assert place.cpu == ("/sys/fs/cgroup/web", "/sys/fs/cgroup")


def test_version_2_takes_the_tightest_limit_and_its_counters() -> None:
    top, own = "/sys/fs/cgroup/web", "/sys/fs/cgroup/web/httpd"
    found = limits(
        {
            f"{own}/cpu.max": "200000 100000\n",
            f"{own}/cpu.stat": "usage_usec 9\nnr_periods 5\nnr_throttled 1\nthrottled_usec 100\n",
            f"{own}/memory.max": "max\n",
            f"{own}/memory.high": "max\n",
            f"{own}/memory.current": "1048576\n",
            f"{top}/cpu.max": "25000 50000\n",
            f"{top}/cpu.stat": "usage_usec 9\nnr_periods 50\nnr_throttled 40\nthrottled_usec 987654\nnr_bursts 0\n",
            f"{top}/memory.max": "536870912\n",
            f"{top}/memory.high": "max\n",
            f"{top}/memory.current": "500000000\n",
            f"{top}/memory.events": "low 0\nhigh 2\nmax 7\noom 0\noom_kill 0\n",
            "/sys/fs/cgroup/cpu.stat": "usage_usec 9\n",
            f"{own}/cpu.pressure": "some avg10=1.00 avg60=0 avg300=0 total=77\nfull avg10=0 avg60=0 avg300=0 total=7\n",
        },
        "0::/web/httpd\n",
        V2,
    )
    assert found == CgroupLimits(
        "/web/httpd", 2, cpu_quota_us=25000, cpu_period_us=50000, periods=50, throttled_periods=40, throttled_us=987654,
        memory_limit_kb=524288, memory_used_kb=488281, memory_failures=9, pressure=Pressure(cpu_some_us=77),
    )  # fmt: skip


def test_a_soft_limit_below_the_hard_one_is_the_limit() -> None:
    own = "/sys/fs/cgroup/web"
    files = {f"{own}/memory.max": "2048000\n", f"{own}/memory.high": "1024900\n"}
    assert limits(files, "0::/web\n", V2).memory_limit_kb == 1000


def test_the_tightest_quota_is_that_of_fewest_processors() -> None:
    top, own = "/sys/fs/cgroup/web", "/sys/fs/cgroup/web/httpd"
    files = {f"{own}/cpu.max": "50000 100000\n", f"{top}/cpu.max": "40000 50000\n"}
    assert limits(files, "0::/web/httpd\n", V2).cpu_quota_us == 50_000


def test_version_1() -> None:
    cpu, memory = "/sys/fs/cgroup/cpu,cpuacct/web", "/sys/fs/cgroup/memory/web"
    found = limits(
        {
            f"{cpu}/cpu.cfs_quota_us": "50000\n",
            f"{cpu}/cpu.cfs_period_us": "100000\n",
            f"{cpu}/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 123456789\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            f"{memory}/memory.limit_in_bytes": "104857600\n",
            f"{memory}/memory.usage_in_bytes": "52428800\n",
            f"{memory}/memory.failcnt": "12\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        "5:memory:/web\n3:cpu,cpuacct:/web\n0::/\n",
        V1,
    )
    assert (found.version, found.path) == (1, "/web")
    assert (found.cpu_quota_us, found.cpu_period_us) == (50000, 100000)
    assert (found.periods, found.throttled_periods, found.throttled_us) == (10, 4, 123456)
    assert (found.memory_limit_kb, found.memory_used_kb, found.memory_failures) == (102400, 51200, 12)


@pytest.mark.parametrize("most", [2**63 - 4096, 2**62])
def test_no_limit_is_not_a_large_one(most: int) -> None:
    own = "/sys/fs/cgroup/memory/web"
    files = {f"{own}/memory.limit_in_bytes": f"{most}\n", f"{own}/memory.usage_in_bytes": "4096\n"}
    found = limits(files, "5:memory:/web\n", V1)
    assert (found.memory_limit_kb, found.memory_used_kb, found.cpu_quota_us) == (None, 4, None)


@pytest.mark.parametrize("text", ["", "max", "max 100000\n", "garbage\n", "5\n", "-1 100000\n", "0 0\n"])
def test_a_limit_that_is_none(text: str) -> None:
    assert limits({"/sys/fs/cgroup/web/cpu.max": text}, "0::/web\n", V2).cpu_quota_us is None


async def test_in_a_machine() -> None:
    transport = machine_of_texts("6.18")
    machine = LinuxMachine(transport, KINDS)
    assert reason(await machine.sample()) == "no server found"
    transport.processes = {10: stat_text(10, "httpd"), 11: stat_text(11, "httpd", parent=10)}
    await machine.sample()
    assert reason(await machine.sample()) == "/proc/self/mountinfo: no such file"
    transport.files["/proc/self/mountinfo"] = "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    for _ in range(SLOW_EVERY):
        await machine.sample()
    assert reason(await machine.sample()) == "/proc/10/cgroup: no such file"
    transport.files["/proc/10/cgroup"] = "0::/web\n"
    assert reason(await machine.sample()) == "not read yet"
    transport.files["/sys/fs/cgroup/web/cpu.max"] = "50000 100000\n"
    group = known((await machine.sample()).cgroup)
    assert (group.path, group.cpu_quota_us) == ("/web", 50000)
    transport.files["/proc/10/cgroup"] = "0::/other\n"
    await machine.sample()
    assert known((await machine.sample()).cgroup).path == "/other"
    transport.files["/proc/self/mountinfo"] = "30 22 0:26 / /mnt rw - cgroup2 cgroup2 rw\n"
    transport.files["/mnt/other/cpu.max"] = "10000 100000\n"
    for _ in range(2 * SLOW_EVERY + 2):
        await machine.sample()
    group = known((await machine.sample()).cgroup)
    assert (group.path, group.cpu_quota_us) == ("/other", 10000)
    transport.files["/proc/10/cgroup"] = "0::/../elsewhere\n"
    await machine.sample()
    assert "not mounted on this host" in reason(await machine.sample())
    transport.processes = {}
    await machine.sample()
    assert reason(await machine.sample()) == "no server found"


@pytest.mark.parametrize("limited", [True, False])
async def test_limits_on_io_are_read_often_only_where_there_are_any(limited: bool) -> None:
    transport = machine_of_texts("6.18")
    machine = LinuxMachine(transport, KINDS)
    transport.processes = {10: stat_text(10, "httpd")}
    top = "/sys/fs/cgroup/web"
    transport.files |= {
        "/proc/self/mountinfo": "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "/proc/10/cgroup": "0::/web\n",
        f"{top}/io.max": "254:0 wiops=60\n" if limited else "",
        f"{top}/io.stat": "254:0 wios=7\n",
    }
    found = [known(sample.cgroup).io for sample in [await machine.sample() for _ in range(8)][3:]]
    assert found == [(IoLimit("vda", top, Limited.WRITES, 60, 7),) if limited else ()] * 5
    asked = [f"{top}/io.stat" in [wanted.path for wanted in request.files] for request in transport.requests]
    assert sum(asked) == (6 if limited else 1)


async def test_the_groups_of_several_servers() -> None:
    """The web server's first; servers of one group together; a process whose group is hidden takes no part."""
    transport = machine_of_texts("6.18")
    machine = LinuxMachine(transport, KINDS)
    names = {5: "php-fpm8.2", 6: "haproxy", 7: "nginx", 8: "gunicorn", 10: "httpd"}
    transport.processes = {pid: stat_text(pid, name) for pid, name in names.items()}
    transport.files["/proc/self/mountinfo"] = "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    groups = {5: "fpm", 6: "front", 7: "front", 10: "web"}
    transport.files |= {f"/proc/{pid}/cgroup": f"0::/{group}\n" for pid, group in groups.items()}
    transport.files |= {"/sys/fs/cgroup/fpm/cpu.max": "50000 100000\n", "/sys/fs/cgroup/web/memory.max": "1048576\n"}
    await machine.sample()
    await machine.sample()
    sample = await machine.sample()
    found = (known(sample.cgroup), *sample.more_cgroups)
    assert {each.path: each.servers for each in found} == {
        "/web": ("httpd",), "/front": ("nginx", "haproxy"), "/fpm": ("php-fpm",),
    }  # fmt: skip
    assert found[0].servers[0] in ("httpd", "nginx")
    assert {each.path: each.cpu_quota_us for each in found} == {"/web": None, "/front": None, "/fpm": 50_000}
    assert known(sample.cgroup_of("php-fpm")).cpu_quota_us == 50_000
    assert known(sample.cgroup_of("httpd")).memory_limit_kb == 1024
    assert sample.cgroup_of("of no known server") is None


def reason(sample: HostSample) -> str:
    assert sample.cgroup is None
    return next(
        str(found.reason) for found in sample.outcomes if found.collector == "cgroup" and found.state is State.ABSENT
    )
