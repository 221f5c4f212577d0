"""Generated machines, printed as a kernel prints them, are read back as they were made up."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from collectors.apache import collector as apache
from collectors.linux import cpu, devices, memory, processes, sockets
from collectors.machine import ProcessStat
from loadtop.model import Core, Cpu, CpuTimes, Disk, Listener, Memory, Network, Pressure, Swap
from loadtop.servers.apache.record import ApacheStatus
from tests.unit.collectors.texts import stat_text

counts = st.integers(0, 2**63 - 1)
small = st.integers(0, 2**31 - 1)
names = st.text(alphabet=st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=15)
times = st.builds(CpuTimes, *(counts for _ in range(10)))


def print_times(label: str, found: CpuTimes) -> str:
    return f"{label} {' '.join(str(getattr(found, field.name)) for field in fields(found))}\n"


@given(times, st.dictionaries(st.integers(0, 511), times, max_size=8), counts, counts)
def test_stat(total: CpuTimes, cores: dict[int, CpuTimes], switches: int, forks: int) -> None:
    text = print_times("cpu ", total) + "".join(print_times(f"cpu{number}", core) for number, core in cores.items())
    text += f"intr 9 {'0 ' * 50}\nctxt {switches}\nbtime 1\nprocesses {forks}\nprocs_running 3\nprocs_blocked 1\n"
    assert cpu.parse(text) == Cpu(total, tuple(Core(number, core) for number, core in cores.items()))
    found = cpu.parse_load("0.1 0.2 0.3 5/100 77\n", text)
    assert (found.running, found.blocked, found.context_switches, found.forks) == (3 - 1, 1, switches, forks)


@given(st.tuples(*(st.integers(0, 10**7) for _ in range(3))), small, small)
def test_loadavg(hundredths: tuple[int, int, int], running: int, existing: int) -> None:
    averages = [value / 100 for value in hundredths]
    found = cpu.parse_load(f"{' '.join(f'{value:.2f}' for value in averages)} {running}/{existing} 4711\n")
    assert [found.load1, found.load5, found.load15] == averages
    assert (found.running, found.tasks) == (max(0, running - 1), existing)


OPTIONAL = {
    "MemAvailable": "available_kb", "Buffers": "buffers_kb", "Cached": "cached_kb", "Dirty": "dirty_kb",
    "Writeback": "writeback_kb", "SReclaimable": "reclaimable_kb", "Shmem": "shared_kb",
}  # fmt: skip


@given(st.dictionaries(names, counts), st.dictionaries(st.sampled_from(sorted(OPTIONAL)), counts), *[counts] * 4)
def test_meminfo(
    others: dict[str, int], optional: dict[str, int], total: int, free: int, swap: int, swap_free: int
) -> None:
    others = {f"{name}_": value for name, value in others.items()}
    table = {**others, "MemTotal": total, "MemFree": free, **optional, "SwapTotal": swap, "SwapFree": swap_free}
    text = "".join(f"{name + ':':<15}{value:>9} kB\n" for name, value in table.items())
    assert memory.parse(text) == Memory(total, free, **{OPTIONAL[name]: value for name, value in optional.items()})
    assert memory.parse_swap(text) == Swap(swap, swap_free)


@given(small, small, st.lists(small, min_size=1, max_size=4))
def test_vmstat(swapped_in: int, swapped_out: int, stalls: list[int]) -> None:
    zones = "".join(
        f"allocstall_{zone} {value}\n"
        for zone, value in zip(("dma", "dma32", "normal", "movable"), stalls, strict=False)
    )
    found = memory.parse_paging(f"pswpin {swapped_in}\n{zones}pswpout {swapped_out}\n", 16)
    assert (found.swap_in_kb, found.swap_out_kb) == (16 * swapped_in, 16 * swapped_out)
    assert found.allocation_stalls == sum(stalls)


@given(st.tuples(*[counts] * 5))
def test_pressure(totals: tuple[int, int, int, int, int]) -> None:
    def text(some: int, full: int) -> str:
        average = "avg10=0.00 avg60=12.34 avg300=99.99"
        return f"some {average} total={some}\nfull {average} total={full}\n"

    cpu_some, memory_some, memory_full, io_some, io_full = totals
    texts = (text(cpu_some, 0), text(memory_some, memory_full), text(io_some, io_full))
    assert memory.parse_pressure(*texts) == Pressure(*totals)


sectors = st.integers(0, 2**62)
disk = st.builds(Disk, st.just("sda"), counts, sectors, counts, counts, sectors, counts, small, counts, counts)


@given(disk, st.sampled_from([0, 4, 6]))
def test_diskstats(made: Disk, more: int) -> None:
    """The kernel counts sectors of 512 bytes."""
    read, written = 2 * made.read_kb % 2**63, 2 * made.write_kb % 2**63
    text = (
        f"   8       0 {made.name} {made.reads} 7 {read} {made.read_ms} {made.writes} 7 {written} {made.write_ms}"
        f" {made.in_flight} {made.busy_ms} {made.queue_ms}{' 9' * more}\n"
    )
    assert devices.parse_disks(text) == (replace(made, read_kb=read // 2, write_kb=written // 2),)


network = st.builds(Network, names, *(counts for _ in range(8)))


@given(st.lists(network, unique_by=lambda made: made.name), st.booleans())
def test_net_dev(made: list[Network], touching: bool) -> None:
    text = "Inter-|   Receive  |  Transmit\n face |bytes packets |bytes packets\n"
    for net in made:
        received = f"{net.rx_bytes} {net.rx_packets} {net.rx_errors} {net.rx_drops} 0 0 0 0"
        sent = f"{net.tx_bytes} {net.tx_packets} {net.tx_errors} {net.tx_drops} 0 0 0 0"
        text += f"{net.name:>6}:{'' if touching else ' '}{received} {sent}\n"
    assert devices.parse_networks(text) == tuple(made)


@given(st.lists(st.tuples(names, counts), unique_by=lambda pair: pair[0]), counts, counts)
def test_netstat(others: list[tuple[str, int]], overflows: int, drops: int) -> None:
    table = [*((f"{name}_", value) for name, value in others), ("ListenDrops", drops), ("ListenOverflows", overflows)]
    text = f"IpExt: ListenDrops\nIpExt: 77\nTcpExt: {' '.join(name for name, _ in table)}\n"
    text += f"TcpExt: {' '.join(str(value) for _, value in table)}\n"
    found = sockets.parse_tcp(text, None, None)
    assert (found.listen_overflows, found.listen_drops, found.retransmits) == (overflows, drops, None)


@given(st.dictionaries(st.integers(1, 65535), st.tuples(small, st.integers(1, 2**31))))
def test_listeners(made: dict[int, tuple[int, int]]) -> None:
    text = "".join(f"LISTEN {queue} {limit} [::1]:{port} [::]:*\n" for port, (queue, limit) in made.items())
    assert sockets.parse_listeners(text) == tuple(Listener(port, *made[port]) for port in sorted(made))


@given(st.dictionaries(st.integers(1, 65535), st.integers(0, 2**32 - 1), max_size=20), st.integers(0, 10))
def test_table_of_sockets(made: dict[int, int], connections: int) -> None:
    text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    for port, queue in made.items():
        text += f"   0: 0100007F:{port:04X} 00000000:0000 0A 00000000:{queue:08X} 00:00000000 00000000 0 0 {port}\n"
    text += "   9: 0100007F:0050 0100007F:C000 01 00000000:0000FFFF 00:00000000 00000000 0 0 1\n" * connections
    found = sockets.parse_table(text)
    assert {socket.port: socket.queue for socket in found} == made
    assert all(socket.inode == socket.port and socket.address == "127.0.0.1" for socket in found)


@given(st.text(max_size=15), st.integers(1, 2**22), st.sampled_from("RSDTtZXIPW"), small, small, counts)
def test_stat_of_a_process(name: str, pid: int, state: str, ticks: int, threads: int, started: int) -> None:
    found = processes.parse_stat(
        stat_text(pid, name, state=state, ticks=ticks, threads=threads, started=started, pages=9)
    )
    assert found == ProcessStat(pid, name, state, 1, threads, ticks, started, 9)


@given(st.text(alphabet=apache.LETTERS, min_size=1, max_size=400), counts, counts, counts, st.booleans())
def test_status_page(board: str, accesses: int, kbytes: int, duration: int, is_event: bool) -> None:
    text = (
        "web1\nServerVersion: Apache/2.4.62 (Unix)\nServerMPM: " + ("event" if is_event else "prefork") + "\n"
        f"ServerUptimeSeconds: 5\nTotal Accesses: {accesses}\nTotal kBytes: {kbytes}\nTotal Duration: {duration}\n"
        "CPULoad: 0.e+79\nBusyWorkers: 1\nIdleWorkers: 1\n"
    )
    if is_event:
        text += "Processes: 2\nStopping: 1\nBusyWorkers: 1\nIdleWorkers: 1\nConnsTotal: 7\nConnsAsyncWriting: 1\n"
        text += "ConnsAsyncKeepAlive: 4\nConnsAsyncClosing: 2\n"
    found = apache.parse(f"{text}Scoreboard: {board}\n", "http://web1/server-status?auto", 0.25)
    url, version = "http://web1/server-status?auto", "Apache/2.4.62 (Unix)"
    expected = ApacheStatus(url, "prefork", version, board, 5, accesses, kbytes, duration, fetch_s=0.25)
    if is_event:
        expected = replace(
            expected, mpm="event", processes=2, stopping=1, connections=7, connections_writing=1,
            connections_keepalive=4, connections_closing=2,
        )  # fmt: skip
    assert found == expected
