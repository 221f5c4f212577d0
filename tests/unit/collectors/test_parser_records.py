"""Each text of a kernel or a server with another number in every place, and the whole record that it becomes."""

import pytest

from collectors.apache import collector as apache
from collectors.errors import ParseError
from collectors.haproxy import collector as haproxy
from collectors.linux import cpu, devices, memory, processes, sockets, unix_sockets
from collectors.machine import ProcessStat
from collectors.parsing import count_or_none, counts, decimal, excerpt, hexadecimal, row
from collectors.php_fpm import status
from loadtop.model import Core, Cpu, CpuTimes, Disk, Listener, Memory, Network, Paging, Pressure, Scheduler, Swap, Tcp
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool

STAT = """\
cpu  1 2 3 4 5 6 7 8 9 10 11
cpu0 11 12 13 14 15 16 17 18 19 20
cpu12 21 22 23 24
intr 99
ctxt 31
processes 32
procs_running 33
procs_blocked 34
"""


def test_stat_and_loadavg() -> None:
    cores = (Core(0, CpuTimes(*range(11, 21))), Core(12, CpuTimes(21, 22, 23, 24)))
    assert cpu.parse(STAT) == Cpu(CpuTimes(*range(1, 11)), cores)
    assert cpu.parse_load("0.1 0.2 0.3 4/50 60\n", STAT) == Scheduler(0.1, 0.2, 0.3, 32, 34, 50, 31, 32)
    assert cpu.parse_load("0.1 0.2 0.3 4/50 60\n") == Scheduler(0.1, 0.2, 0.3, 3, None, 50)
    assert cpu.parse_load("0.1 0.2 0.3 4/50\n").tasks == 50
    assert cpu.parse_load("0.1 0.2 0.3\n") == Scheduler(0.1, 0.2, 0.3)
    assert cpu.parse_load("0.1 0.2 0.3 0/1 60\n").running == 0
    for text in ("cpu 1 2 3\n", "cpu0 1 2 3 4\n", "cpux 1 2 3 4\ncpu 1 2 3 4\n"):
        with pytest.raises(ParseError):
            cpu.parse(text)
    with pytest.raises(ParseError):
        cpu.parse_load("0.1 0.2\n")


MEMINFO = """\
MemTotal: 1 kB
MemFree: 2 kB
MemAvailable: 3 kB
Buffers: 4 kB
Cached: 5 kB
SwapCached: 6 kB
Dirty: 7 kB
Writeback: 8 kB
Shmem: 9 kB
SReclaimable: 10 kB
SwapTotal: 11 kB
SwapFree: 12 kB
"""
VMSTAT = """\
pswpin 1
pswpout 2
pgmajfault 3
pgscan_direct 4
pgsteal_direct 5
allocstall 6
workingset_refault_anon 7
workingset_refault_file 8
oom_kill 9
"""
ZONES = ("dma", "dma32", "normal", "high", "movable", "device")


def test_memory() -> None:
    assert memory.parse(MEMINFO) == Memory(1, 2, 3, 4, 5, 7, 8, 10, 9)
    assert memory.parse_swap(MEMINFO) == Swap(11, 12, 6)
    assert memory.parse_paging(VMSTAT, 4) == Paging(4, 8, 3, 4, 5, 6, 7, 8, 9)
    zones = "".join(f"allocstall_{zone} {10**place}\n" for place, zone in enumerate(ZONES))
    older = "pswpin 1\npswpout 2\nworkingset_refault 7\n" + zones
    assert memory.parse_paging(older, 1) == Paging(1, 2, allocation_stalls=111_111, refaults_file_pages=7)


def test_pressure() -> None:
    texts = [
        f"some avg10=9 avg60=9 avg300=9 total={n}\nfull avg10=9 avg60=9 avg300=9 total={n + 1}\n" for n in (1, 3, 5)
    ]
    assert memory.parse_pressure(*texts) == Pressure(1, 3, 4, 5, 6)
    assert memory.parse_pressure(None, None, texts[0]) == Pressure(None, None, None, 1, 2)
    for text in ("", "most total=1\n", "some avg10=9\n", "some total=x\n"):
        with pytest.raises(ParseError):
            memory.parse_pressure(text, None, None)


def test_disks_and_networks() -> None:
    line = "8 0 sda 1 2 30 4 5 6 70 8 9 10 11\n"
    assert devices.parse_disks(line) == (Disk("sda", 1, 15, 4, 5, 35, 8, 9, 10, 11),)
    assert devices.parse_disks(line.replace(" 9 ", f" {2**31} "))[0].in_flight is None
    assert devices.parse_disks(line.replace(" 9 ", f" {2**31 - 1} "))[0].in_flight == 2**31 - 1
    assert devices.parse_disks(line.replace(" 30 ", " 31 ").replace(" 70 ", " 71 ")) == devices.parse_disks(line)
    assert devices.parse_disks(f"8 0 sdb\n{line}") == devices.parse_disks(line)
    head = "Inter-| Receive\n face |bytes\n"
    assert devices.parse_networks(head) == ()
    text = f"{head} eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\nlo:0 0 0 0 0 0 0 0 0 0 0 0\n"
    lo = Network("lo", 0, 0, 0, 0)
    assert devices.parse_networks(text, {"eth0": 100}) == (Network("eth0", 1, 9, 2, 10, 3, 11, 4, 12, 100), lo)
    eth0 = Network("eth0", 0, 0, 0, 0, link_mbit=1000)
    assert devices.with_speed((lo, eth0), 50) == (lo, Network("eth0", 0, 0, 0, 0, link_mbit=50))
    speeds = [devices.parse_speed(f"{text}\n") for text in (1000, -1, 0, 65535, 2**32 - 1, "")]
    assert speeds == [1000, None, None, None, None, None]
    for text in ("", "x\ny\n", f"{head}eth0 1\n", f"{head}eth0: 1 2 3 4 5 6 7 8 9 10 11\n"):
        with pytest.raises(ParseError):
            devices.parse_networks(text)


def test_which_devices_carry_swap() -> None:
    swaps = "Filename Type\n/dev/sda2 partition\n/dev/shm/file file 9 0\n/srv/partition file 9 0\n"
    assert devices.parse_swap_devices(swaps) == {"sda2"}
    whole, idle = "8 0 sda 9 0 9 9 9 0 9 9 0 9 9\n", "8 1 sda1 0 0 0 0 0 0 0 0 0 0 0\n"
    written, swap = "8 1 sda1 0 0 0 0 5 0 5 5 0 5 5\n", "8 2 sda2 0 0 0 0 4 0 4 4 0 4 4\n"
    assert [devices.parse_disks(whole + other + swap, swaps)[0].swap for other in (idle, written)] == [True, False]


def test_counters_of_tcp() -> None:
    netstat = "TcpExt: A ListenOverflows ListenDrops\nTcpExt: 1 2 3\nIpExt: A\nIpExt: 1\n"
    snmp = (
        "Ip: X\nIp: 1\nTcp: ActiveOpens PassiveOpens CurrEstab OutSegs RetransSegs InErrs\nTcp: 4 5 6 7 8 9\n"
        "Udp: X\nUdp: 1\n"
    )
    found = sockets.parse_tcp(netstat, snmp, "TCP: inuse 10 orphan 0 tw 11\n", "TCP6: inuse 12\n")
    assert found == Tcp(2, 3, 8, 7, 5, 4, 6, 11, 22)
    assert sockets.parse_tcp(None, None, "TCP: inuse 10\n", None) == Tcp(in_use=10)
    for text in ("TcpExt: A B\n", "TcpExt: A B\nTcpExt: 1\n"):
        with pytest.raises(ParseError):
            sockets.parse_tcp(text, None, None)
    with pytest.raises(ParseError):
        sockets.parse_tcp(None, None, "UDP: inuse 1\n")


def test_listening_sockets() -> None:
    table = (
        "  sl  local_address rem_address   st tx_queue rx_queue\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000001:00000002 00:0 0 0 0 77 1\n"
        "   1: 00000000000000000000000001000000:0050 0:0 0A 00000000:0000000A\n"
        "   2: 0100007F:1F91 00000000:0000 01 00000000:00000003 00:0 0 0 0 78 1\n"
        "   3: 0100007F:1F92 00000000:0000 0A 00000000:00000004 00:0 0 0 0 79 1\n"
    )
    assert sockets.parse_table(table) == (
        sockets.ListeningSocket("127.0.0.1", 8080, 2, 77),
        sockets.ListeningSocket("::1", 80, 10, None),
    )
    ss = "LISTEN 1 511 0.0.0.0:80 0.0.0.0:*\nLISTEN 2 128 [::]:22 [::]:*\nLISTEN 4 100 [::]:80 [::]:*\n"
    assert sockets.parse_listeners(ss) == (Listener(22, 2, 128), Listener(80, 5, 611))
    assert sockets.parse_listeners("LISTEN 1 9 *:82\n") == (Listener(82, 1, 9),)
    for line in ("ESTAB 0 9 *:81 *:*\n", "LISTEN 1 9\n"):
        with pytest.raises(ParseError):
            sockets.parse_listeners(line)
    assert sockets.parse_listeners("LISTEN 1 0 *:80 *:*\nLISTEN 1 9 *:80 *:*\n") == (Listener(80, 2, None),)
    unix = (
        "Num RefCount Protocol Flags Type St Inode Path\n"
        "0: 2 0 00010000 0001 01 100 /run/a b.sock\n"
        "0: 2 0 00010000 0001 01 101 @b\n"
        "0: 2 0 00000000 0001 02 0 /run/a b.sock\n"
        "0: 2 0 00000000 0001 02 0 /run/a b.sock\n"
        "0: 2 0 00000000 0001 03 0 /run/a b.sock\n"
        "0: 2 0 00000000 0001 02 102 @b\n"
        "0: 2 0 00000000 0001 02 0\n"
    )
    assert unix_sockets.parse_unix(unix) == {"/run/a b.sock": 2, "@b": 0}


def test_a_process() -> None:
    fields = " ".join(str(100 + place) for place in range(4, 26))
    assert processes.parse_stat(f"7 (a) (b) S {fields}\n") == ProcessStat(
        7, "a) (b", "S", 104, 120, 114 + 115, 122, 124, 116 + 117
    )
    for text in (
        f"7 (a) S {fields.rpartition(' ')[0]}",
        f"7 (a) SS {fields}",
        f"7 (a) 1 {fields}",
        f"7 )a( S {fields}",
    ):
        with pytest.raises(ParseError):
            processes.parse_stat(text)
    assert processes.parse_pss("Rss: 9 kB\nPss: 12 kB\n") == 12
    assert processes.parse_pss("") is None


def test_times_of_threads() -> None:
    assert processes.parse_schedstats("7 100 20 3\n8 100 0 1\n9 0 0 0\n10 5 5") == {7: (100, 20), 8: (100, 0)}
    assert processes.parse_schedstats("") == {}
    for text in ("7 100 20\n", "7 100 20 3 4\n", "7 100 -20 3\n", "7 1 9999999999999999999 3\n"):
        with pytest.raises(ParseError):
            processes.parse_schedstats(text)


def test_apaches_page() -> None:
    text = (
        "localhost\nServerVersion: Apache/2.4\nServerMPM: Event\nServerUptimeSeconds: 1\nUptime: 99\n"
        "Total Accesses: 2\nTotal kBytes: 3\nTotal Duration: 4\nProcesses: 5\nStopping: 6\nConnsTotal: 7\n"
        "ConnsAsyncWriting: 8\nConnsAsyncKeepAlive: 9\nConnsAsyncClosing: 10\nTotal Accesses: 98\nScoreboard: _W.\n"
    )
    known = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert apache.parse(text, "u", 0.5) == ApacheStatus("u", "event", "Apache/2.4", "_W.", *known, 0.5)
    assert apache.parse("Uptime: 99\nScoreboard: _\n").uptime_s == 99
    assert [apache.parse(f"{line}Scoreboard: _\n").mpm for line in ("", "ConnsTotal: 7\n")] == ["", "event"]


def test_haproxys_table() -> None:
    names = (
        "pxname,svname,qcur,scur,slim,stot,bin,bout,econ,eresp,wretr,status,qlimit,hrsp_5xx,req_tot,qtime,rtime,type"
    )
    text = f"# {names},\na,s,1,2,3,4,5,6,7,8,9,UP,10,11,12,13,14,2,\na,sock,,,,,,,,,,,,,,,,3,\n,s,,,,,,,,,,,,,,,,2,\n"
    line = HaproxyProxy("a", "s", "UP", 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 10, 12, 11)
    assert haproxy.parse(text) == (line,)
    empty = haproxy.parse(f"# {names},\na,s,,,,,,,,,,,,,,,,1,\n")
    assert empty == (HaproxyProxy("a", "s", "", None, 0, None, 0, 0, 0),)


def test_php_fpms_page() -> None:
    pairs = {
        "pool": "www", "process manager": "static", "start since": 1, "accepted conn": 2, "listen queue": 3,
        "max listen queue": 99, "listen queue len": 4, "idle processes": 5, "active processes": 6,
        "total processes": 7, "max active processes": 98, "max children reached": 8, "slow requests": 9,
    }  # fmt: skip
    text = "".join(f"{name}: {value}\n" for name, value in pairs.items())
    assert status.parse(text, 0.5) == FpmPool(
        "www", "static", 2, 3, 4, 5, 6, 7, 8, slow_requests=9, uptime_s=1, fetch_s=0.5
    )


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("0", 0),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        ("0" * 19, 0),
        ("0" * 20, None),
        ("-1", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_a_count_fits_63_bits(token: str | None, value: int | None) -> None:
    assert count_or_none(token) == value


def test_other_numbers() -> None:
    assert (hexadecimal("fF" * 8, "x"), hexadecimal("9", "x")) == (2**64 - 1, 9)
    assert (decimal("1.50", "x"), decimal("9" * 15, "x")) == (1.5, 10**15 - 1)
    assert row(["1", "9" * 18], "x") == [1, 10**18 - 1]
    assert row(["1", str(2**63 - 1)], "x") == [1, 2**63 - 1]
    for parse, wrong in (
        (hexadecimal, ""),
        (hexadecimal, "f" * 17),
        (hexadecimal, "0X1"),
        (decimal, "1e5"),
        (decimal, "9" * 16),
    ):
        with pytest.raises(ParseError):
            parse(wrong, "x")
    for tokens in (["1", ""], ["1", "-1"], [str(2**63)]):
        with pytest.raises(ParseError):
            row(tokens, "x")
    assert (excerpt("x" * 40), excerpt("é" + "x" * 40)) == (f"'{'x' * 40}'", f"'\\xe9{'x' * 36}...'")
    table = counts("a 1 kB\nb x\nc\na 2\nd: 3\ne 4", {"a", "b", "c", "d:", "e"})
    assert table == {"a": 1, "d:": 3}
