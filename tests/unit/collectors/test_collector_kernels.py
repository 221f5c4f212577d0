"""What each kernel from 2.6.32 to 6.18 prints, as the parsers understand it."""

import pytest

from collectors.errors import ParseError
from collectors.linux import cpu, devices, memory, processes, sockets
from collectors.machine import Endpoint, ProcessStat
from collectors.servers import KINDS
from loadtop.model import CpuTimes
from tests.unit.collectors.texts import proc, stat_text


def test_every_kernel_is_understood(kernel: str) -> None:
    assert cpu.parse(proc(kernel, "stat")).cores
    assert cpu.parse_load(proc(kernel, "loadavg"), proc(kernel, "stat")).context_switches
    assert memory.parse(proc(kernel, "meminfo")).total_kb
    assert memory.parse_swap(proc(kernel, "meminfo")).total_kb >= 0
    assert memory.parse_paging(proc(kernel, "vmstat"), 4).major_faults
    assert devices.parse_disks(proc(kernel, "diskstats"), proc(kernel, "swaps"))
    assert devices.parse_networks(proc(kernel, "net/dev"))
    assert sockets.parse_tcp(*(proc(kernel, f"net/{name}") for name in ("netstat", "snmp", "sockstat"))).out_segments
    assert processes.parse_stat(proc(kernel, "httpd-stat")).name in ("httpd", "apache2")


def test_columns_that_a_kernel_does_not_print_are_not_zero() -> None:
    oldest = cpu.parse(proc("2.6.32", "stat")).total
    assert oldest == CpuTimes(84213, 512, 20411, 9120034, 7731, 12, 988, 0, 0, None)


def test_running_tasks_come_from_stat_and_else_from_loadavg() -> None:
    """Without the one that reads."""
    assert cpu.parse_load(proc("4.18", "loadavg")).running == 8
    assert cpu.parse_load("0.1 0.2 0.3 5/100 77\n", proc("4.18", "stat")).running == 8
    assert cpu.parse_load(proc("4.18", "loadavg"), proc("4.18", "stat")).blocked == 4


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.6.32", (201, None, 17, None, None, None)),
        ("3.10", (62, 42, 3, None, None, None)),
        ("4.18", (4700, 4200, 75, None, 778899, 2)),
        ("5.10", (260, 210, 7, 15, 4455, 0)),
    ],
)
def test_reclaim_is_added_over_zones(version: str, expected: tuple[int | None, ...]) -> None:
    found = memory.parse_paging(proc(version, "vmstat"), 4)
    reclaim = (found.direct_scanned_pages, found.direct_reclaimed_pages, found.allocation_stalls)
    assert (*reclaim, found.refaults_anon_pages, found.refaults_file_pages, found.oom_kills) == expected


def test_pressure_before_and_after_full_of_cpu() -> None:
    old, new = (
        memory.parse_pressure(*(proc(version, f"pressure/{name}") for name in ("cpu", "memory", "io")))
        for version in ("5.10", "6.18")
    )
    assert (old.cpu_some_us, old.memory_full_us, old.io_full_us) == (1234567, 1234, 887766)
    assert new.cpu_some_us


@pytest.mark.parametrize(
    ("version", "names", "swap"),
    [
        ("2.6.32", ["sda", "sdb", "dm-0"], ["sdb"]),
        ("3.10", ["vda", "vdb"], []),
        ("4.18", ["nvme0n1", "dm-0", "dm-1"], ["dm-1"]),
        ("5.10", ["vda", "zram0", "loop0"], ["zram0"]),
        ("6.18", ["vda"], []),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_whole_disks_and_which_carry_swap(version: str, names: list[str], swap: list[str], listed: bool) -> None:
    blocks = None
    if listed:
        others = ["ram0", "loop0", "loop1", "loop2", "loop3", "loop4", "loop5", "loop6", "loop7", "sr0", "zram0"]
        blocks = devices.parse_blocks("".join(f"../devices/virtual/block/{name}\n" for name in names + others))
    found = devices.parse_disks(proc(version, "diskstats"), proc(version, "swaps"), blocks)
    assert [disk.name for disk in found] == names
    assert [disk.name for disk in found if disk.swap] == swap


def test_names_of_disks_with_a_slash() -> None:
    text = "104 0 cciss/c0d0 1 0 2 1 1 0 2 1 0 1 1\n104 1 cciss/c0d0p1 1 0 2 1 1 0 2 1 0 1 1\n"
    assert [disk.name for disk in devices.parse_disks(text, None, devices.parse_blocks("../cciss!c0d0\n"))] == [
        "cciss/c0d0"
    ]


def test_partitions_of_very_old_kernels_have_four_counters() -> None:
    assert devices.parse_disks("3 0 hda 1 0 2 1 1 0 2 1 0 1 1\n3 1 hda1 1 2 3 4\n")[0].name == "hda"


def test_tcp_counters_by_name() -> None:
    found = sockets.parse_tcp(*(proc("4.18", f"net/{name}") for name in ("netstat", "snmp", "sockstat", "sockstat6")))
    assert (found.listen_overflows, found.listen_drops, found.retransmits, found.established) == (812, 815, 4404, 421)
    assert (found.time_wait, found.in_use, found.passive_opens, found.active_opens) == (9120, 431, 912999, 93200)


def test_listening_sockets_come_first_and_a_cut_row_is_left_out() -> None:
    found = sockets.parse_table(proc("6.18", "net/tcp"))
    assert [(socket.address, socket.port) for socket in found[:2]] == [("0.0.0.0", 2024), ("127.0.0.1", 34973)]  # noqa: S104
    assert len(found) == 3
    assert sockets.parse_table(proc("6.18", "net/tcp6")) == ()


def test_connections_to_others_and_from_them() -> None:
    """Of IPv4 over a socket of IPv6 too. No process holds one in TIME_WAIT; at most two are listed for each place."""
    head = "sl local_address remote_address st tx_queue rx_queue\n"
    mapped = "0000000000000000FFFF00000100007F"
    ends = [("C001", "1F90", "01", 5), ("C002", "1F90", "02", 6), ("C003", "1F90", "01", 7), ("C004", "0050", "06", 0)]
    ends += [("1F90", "C001", "01", 8), ("C005", "0050", "01", 9)]
    table = head + "".join(f"0: {mapped}:{a} {mapped}:{b} {state} 0:0 0 0 0 0 {inode}\n" for a, b, state, inode in ends)
    clients = [(5, Endpoint("127.0.0.1", 8080)), (6, Endpoint("127.0.0.1", 8080)), (9, Endpoint("127.0.0.1", 80))]
    assert sockets.parse_clients(table, (8080,), 2) == clients
    assert sockets.has_connections(table, (8080, 1))
    assert not sockets.has_connections(table, (80,))


def test_a_process() -> None:
    found = processes.parse_stat(proc("2.6.32", "httpd-stat"))
    assert found == ProcessStat(2201, "httpd", "D", 2190, 1, 355, 9012345, 5120)
    assert processes.parse_stat(proc("3.10", "httpd-stat")).threads == 27


def test_proportional_memory() -> None:
    assert processes.parse_pss(proc("4.18", "httpd-smaps_rollup")) == 20123
    assert processes.parse_pss(proc("6.18", "httpd-smaps_rollup")) == 413


@pytest.mark.parametrize("name", ["a b", "(sd-pam)", "x) R 1 1", "new\nline", "", "ü" * 7, "\x1b[31m"])
def test_names_of_processes(name: str) -> None:
    assert processes.parse_stat(stat_text(77, name, ticks=5)).name == name


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("apache2", "httpd"), ("httpd", "httpd"), ("httpd.event", "httpd"), ("httpd-prefork", "httpd"),
        ("httpd2-prefork", "httpd"), ("lt-httpd", "httpd"),
        ("php-fpm8.2", "php-fpm"), ("php-fpm", "php-fpm"), ("php8.1-fpm", "php-fpm"), ("haproxy", "haproxy"),
        ("apache2ctl", None), ("httpd_exporter", None), ("php", None), ("haproxy-exporter", None), ("httpdx", None),
    ],
)  # fmt: skip
def test_servers_are_known_by_name(name: str, group: str | None) -> None:
    assert [kind.group for kind in KINDS if kind.processes.fullmatch(name)] == ([group] if group else [])


def test_missing_parts_are_named() -> None:
    with pytest.raises(ParseError, match="MemTotal"):
        memory.parse("MemFree: 1 kB\n")
    with pytest.raises(ParseError, match="pswpin"):
        memory.parse_paging("pgmajfault 1\n", 4)
    with pytest.raises(ParseError, match="no complete cpu line"):
        cpu.parse("intr 1 2\n")
