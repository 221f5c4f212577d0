"""Every threshold of the machine's verdicts from both sides: ``over`` is whether the limit is reached, ``held`` whether
what was found before still holds. Everything that a row does not name is calm."""

from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.cpu import CPU, CPU_CORE, STEAL, THROTTLED
from loadtop.diagnosis.disk import DISK
from loadtop.diagnosis.memory import MEMORY, SWAP, worker_room
from loadtop.diagnosis.network import LISTEN_QUEUE, NETWORK, fullest
from loadtop.diagnosis.verdict import Assessment
from loadtop.model import (
    LOADTOP,
    OTHER,
    SERVICE,
    CgroupLimits,
    CoreSpeed,
    Limited,
    Listener,
    Memory,
    Role,
    Scheduler,
    ServerSeen,
    Swap,
    Tcp,
)
from loadtop.rates.measured import HostView
from loadtop.rates.records import (
    CgroupRates,
    CoreShares,
    DiskRates,
    GroupRates,
    IoLimitRates,
    NetworkRates,
    TcpRates,
)
from loadtop.servers.registry import evidence_title
from tests.unit.interval import (
    NO_PAGING,
    NO_STALL,
    advice,
    assessment,
    busy,
    group,
    host,
    of_host,
    process,
    states,
    value,
)
from tests.unit.known import known


class TestProcessors:
    @pytest.mark.parametrize(
        ("share", "running", "stall", "over", "held"),
        [
            (90.0, 3, 50.0, False, True),
            (90.5, 3, 0.0, True, True),
            (90.5, 2, 10.5, True, True),
            (90.5, 2, 10.0, False, True),
            (90.5, None, None, True, True),
            (80.5, 3, 50.0, False, True),
            (80.0, 3, 50.0, False, False),
        ],
    )
    def test_all_of_them(self, share: float, running: int | None, stall: float | None, over: bool, held: bool) -> None:
        scheduler = None if running is None else Scheduler(0, 0, 0, running)
        pressure = None if stall is None else replace(NO_STALL, cpu_some=stall)
        found = of_host(CPU, host({"scheduler": scheduler}, cpu=busy(share), pressure=pressure))
        assert states(found) == (over, held)
        agreed = (running is None or running > 2) + (stall is None or stall > 10.0)
        assert found.confidence == (0.95 if running is None else round(0.9 + 0.05 * agreed, 3))

    def test_headroom_shows_the_busy_share(self) -> None:
        headroom = known(CPU.headroom)
        (found,) = headroom(host(cpu=busy(5.0)))
        assert (found.metric, found.value, found.threshold, found.below) == ("cpu.busy_pct", 5.0, 90.0, True)
        assert list(headroom(host(cpu=None))) == list(headroom(replace(host(), rates=None))) == []

    def test_tasks_are_counted_against_the_cores_that_are_listed(self) -> None:
        cores = tuple(CoreShares(number, busy(95.0)) for number in range(4))
        assert not of_host(CPU, host({"scheduler": Scheduler(0, 0, 0, 4)}, cpu=busy(95.0), cores=cores)).over

    @pytest.mark.parametrize(
        ("khz", "capacities", "slow", "small"),
        [
            ((3_000_000, 3_000_000), (1024, 1024), None, None),
            ((3_000_000, 1_500_000), (1024, 1024), 50.0, None),
            ((3_000_000, 1_500_001), (1024, 1023), None, 100.0 * 1023 / 1024),
            ((1_500_000, 1_200_000), (1024, 512), 40.0, 50.0),
            ((None, None), (None, None), None, None),
        ],
    )
    def test_cores_that_are_slower_than_they_could_be(
        self,
        khz: tuple[int | None, int | None],
        capacities: tuple[int | None, int | None],
        slow: float | None,
        small: float | None,
    ) -> None:
        """The slowest of a full machine; of a full core, that core."""
        speeds = tuple(CoreSpeed(number, capacities[number], khz[number], 3_000_000) for number in (0, 1))

        def said(found: Assessment) -> dict[str, tuple[Any, ...]]:
            rows = {row[0]: (*row[1:3], *row[5:]) for row in found.evidence}
            return {name: rows[name] for name in rows if name.endswith((".frequency_pct", ".capacity_pct"))}

        expected = {} if slow is None else {"core1.frequency_pct": (slow, 50.0, True)}
        expected |= {} if small is None else {"core1.capacity_pct": (small, 100.0, True)}
        assert said(of_host(CPU, host({"core_speeds": speeds}, cpu=busy(95.0)))) == expected
        assert said(of_host(CPU, host({"core_speeds": speeds}, cpu=busy(80.0)))) == {}
        for full in (0, 1):
            cores = tuple(CoreShares(number, busy(97.0 if number == full else 10.0)) for number in (0, 1))
            view = host({"core_speeds": speeds}, cpu=busy(50.0), cores=cores, processes=(process(97.0),))
            of_full = {name: share for name, share in expected.items() if full == 1}
            if full == 0 and khz[0] == 1_500_000:
                of_full = {"core0.frequency_pct": (50.0, 50.0, True)}
            assert said(of_host(CPU_CORE, view)) == of_full

    @pytest.mark.parametrize(
        ("generator", "others", "said"),
        [
            (20.0, [], "takes 10 % of its CPU"),
            (19.9, [], None),
            (0.0, [20.0], "backup0 (pid 7), which is not part of the web server, takes 10 % of the CPU"),
            (0.0, [19.8], None),
            (
                0.0,
                [9.9, 20.0, 10.0],
                "backup1 (pid 7) and 1 more, which are not part of the web server, take 20 % of the CPU",
            ),
            (0.0, [None, 20.0], "backup1 (pid 7), which is not part of the web server, takes 10 % of the CPU"),
        ],
    )
    def test_who_else_is_at_work(self, generator: float, others: list[float | None], said: str | None) -> None:
        rows = (*(process(share, f"backup{number}", OTHER) for number, share in enumerate(others)), process(90.0))
        groups = (group(), group(generator, name=LOADTOP, role=None))
        found = of_host(CPU, host(cpu=busy(95.0), groups=groups, processes=rows))
        text = advice(found)
        named = {row[0]: row[1] for row in found.evidence if row[0].startswith("other.")}
        most = max((share or 0.0 for share in others), default=0.0)
        assert list(named.values()) == ([most / 2] if most >= 20.0 else [])
        assert (text.count(". ") > 1) == (said is not None)
        assert said is None or said in text

    @pytest.mark.parametrize(
        ("stranger", "cpu", "wait", "threads", "running", "ours"),
        [
            (39.0, 0.0, 0.0, 10, 8, True),  # the others alone do not fill it
            (40.0, 0.0, 0.0, 10, 8, False),
            (180.0, 10.0, 240.0, 50, 8, False),  # a quarter of ten requests
            (180.0, 10.0, 241.0, 50, 8, True),
            (180.0, 10.0, 41.0, 2, 8, True),  # of two threads
            (180.0, 10.0, 16.0, 1, 8, True),
            (180.0, 62.0, None, 50, 8, False),  # a wait that was not measured is four times the CPU time there
            (180.0, 63.0, None, 50, 8, True),
            (180.0, 250.0, None, 50, None, False),  # or the CPU time, where no wait was measured
            (180.0, 251.0, None, 50, None, True),
        ],
    )
    def test_strangers_fill_it(
        self, stranger: float, cpu: float, wait: float | None, threads: int, running: int | None, ours: bool
    ) -> None:
        scheduler = None if running is None else Scheduler(0, 0, 0, running)
        groups = (group(cpu, wait=wait, threads=threads), group(0.0, name="fpm", role=Role.APPLICATION))
        for name, full in (("backup", ours), ("mongod", True)):
            rows = (process(stranger, name, OTHER),)
            view = host({"scheduler": scheduler}, cpu=busy(100.0), groups=groups, processes=rows)
            assert states(of_host(CPU, view)) == (full, full)
            assert of_host(CPU, view, load={"in_flight": None}).over

    def test_beside_a_database_alone_nothing_is_a_stranger(self) -> None:
        """The server under test may be of no known kind."""
        groups = (group(5.0, name="redis", role=Role.CACHE), group(5.0, name="mysql", role=Role.DATABASE))
        rows = (process(180.0, "node", OTHER), process(5.0, "redis-server", "redis"))
        view = host({"scheduler": Scheduler(0, 0, 0, 8)}, cpu=busy(100.0), groups=groups, processes=rows)
        assert states(of_host(CPU, view)) == (True, True)

    @pytest.mark.parametrize(
        ("core", "every", "share", "threads", "flying", "over", "held"),
        [
            (95.5, 69.5, 85.0, 1, 2, True, True),
            (95.0, 69.5, 85.0, 1, 2, False, True),
            (88.5, 69.5, 85.0, 1, 2, False, True),
            (88.0, 69.5, 85.0, 1, 2, False, False),
            (95.5, 70.0, 85.0, 1, 2, False, False),
            (95.5, 69.5, 84.5, 1, 2, False, False),
            (95.5, 69.5, 85.0, 1, 1, False, False),
            (60.0, 89.5, 95.0, 1, 2, True, True),
            (60.0, 90.0, 95.0, 1, 2, False, False),
            (60.0, 69.5, 94.5, 1, 2, False, False),
            (60.0, 69.5, 95.0, 2, 2, False, False),
        ],
    )
    def test_one_of_them(
        self, core: float, every: float, share: float, threads: int, flying: int, over: bool, held: bool
    ) -> None:
        cores = (CoreShares(0, busy(10.0)), CoreShares(1, busy(core)))
        view = host(cpu=busy(every), cores=cores, processes=(process(share, threads=threads),), groups=(group(share),))
        found = of_host(CPU_CORE, view, load={"in_flight": flying})
        assert states(found) == (over, held)
        assert value(found, "core1.busy_pct") == core
        assert "process.wanted_pct" not in {row[0] for row in found.evidence}  # it waits for no core
        assert found.confidence == (1.0 if share >= 85.0 and threads == 1 else 0.9)
        assert "apache2 (pid 7) fills one core" in advice(found)

    def test_the_busiest_process_of_the_servers_is_named(self) -> None:
        rows = (process(20.0), process(95.0, "a"), process(None), process(99.0, "backup", OTHER), process(30.0, "b"))
        cores = (CoreShares(0, busy(10.0)), CoreShares(1, busy(99.0)))
        found = of_host(CPU_CORE, host(cpu=busy(50.0), cores=cores, processes=rows, groups=(group(95.0),)))
        assert "a (pid 7) fills one core" in advice(found)
        found = of_host(CPU_CORE, host(cpu=busy(50.0), cores=cores, processes=rows))  # no server is known
        assert "backup (pid 7) fills one core" in advice(found)
        found = of_host(CPU_CORE, host(cpu=busy(50.0), cores=cores, processes=None))
        assert "a single thread fills one core" in advice(found)
        assert (value(found, "process.cpu_pct"), found.confidence) == (None, 0.95)

    @pytest.mark.parametrize(("node", "redis", "named"), [(99.0, 20.0, "node"), (20.0, 99.0, "redis-server")])
    def test_a_database_counts_where_no_server_is_known(self, node: float, redis: float, named: str) -> None:
        rows = (process(node, "node", OTHER), process(redis, "redis-server", "redis"))
        groups = (group(redis, name="redis", role=Role.CACHE),)
        cores = (CoreShares(0, busy(10.0)), CoreShares(1, busy(99.0)))
        found = of_host(CPU_CORE, host(cpu=busy(50.0), cores=cores, processes=rows, groups=groups))
        assert f"{named} (pid 7) fills one core" in advice(found)

    def test_a_service_behind_the_web_server_is_one_of_the_servers(self) -> None:
        rows = (process(20.0), process(97.0, "gunicorn", SERVICE), process(60.0, "backup", OTHER))
        groups = (group(20.0), group(97.0, name=SERVICE, role=Role.APPLICATION))
        cores = (CoreShares(0, busy(60.0)), CoreShares(1, busy(99.0)))
        found = of_host(CPU_CORE, host(cpu=busy(79.5), cores=cores, processes=rows, groups=groups))
        assert found.over
        assert "gunicorn (pid 7) fills one core" in advice(found)

    @pytest.mark.parametrize(
        ("share", "wait", "threads", "over"),
        [
            (80.0, 20.0, 1, True),
            (80.0, 20.0, 2, False),
            (80.0, 14.0, 1, False),  # it sleeps in between
            (80.0, None, 1, False),
            (50.0, 50.0, 1, True),
            (49.0, 51.0, 1, False),
        ],
    )
    def test_a_thread_that_only_runs_or_waits_for_its_core_is_held_by_that(
        self, share: float, wait: float | None, threads: int, over: bool
    ) -> None:
        rows = (replace(process(share, "node", OTHER, threads), wait=wait), process(20.0, "backup", OTHER))
        cores = (CoreShares(0, busy(80.0)), CoreShares(1, busy(60.0)))
        found = of_host(CPU_CORE, host(cpu=busy(70.5), cores=cores, processes=rows))
        assert found.over is over
        if over:
            said = (
                f"Give node (pid 7) a core of its own (taskset, cpuset): it gets {share:.0f} % of one, and waits for it"
            )
            assert said in advice(found)
            assert value(found, "process.wanted_pct") == 100.0

    @pytest.mark.parametrize(("takes", "named"), [(40.0, True), (20.0, True), (19.0, False)])
    def test_who_shares_its_core_is_named(self, takes: float, named: bool) -> None:
        other = process(takes, "backup", OTHER)
        stranger = replace(other, process=replace(other.process, pid=8))
        rows = (replace(process(60.0, "uwsgi", "uwsgi"), wait=40.0), stranger)
        cores = (CoreShares(0, busy(99.0)), CoreShares(1, busy(9.0)))
        groups = (group(60.0, name="uwsgi", role=Role.APPLICATION, wait=40.0),)
        found = of_host(CPU_CORE, host(cpu=busy(54.0), cores=cores, processes=rows, groups=groups))
        assert found.over
        said = "Stop backup (pid 8), or keep it off this core (taskset, cpuset): uwsgi (pid 7) shares the core with it"
        assert (said in advice(found)) is named
        assert [row[1] for row in found.evidence if row[0] == "other.backup.cpu_pct"] == ([takes] if named else [])

    @pytest.mark.parametrize(
        ("others", "siblings", "said", "row"),
        [
            ((17.0, 17.0), 0.0, "Stop backup (pid 8) and 1 more", 34.0),
            (
                (30.0, 16.0, 14.0),
                0.0,
                "Stop backup (pid 8) and 1 more",
                46.0,
            ),  # the third takes much less than the first
            ((77.5, 17.0, 17.0), 0.0, "Stop backup (pid 9) and 1 more", 34.0),  # the first cannot be on this core
            ((16.0, 16.0), 0.0, "Give uwsgi (pid 7) a core of its own", None),  # not all of them are seen yet
            ((17.0, 17.0), 33.0, "Stop backup (pid 8) and 1 more", 34.0),
            ((17.0, 17.0), 34.0, "Let the 2 web server processes use more cores", None),  # mostly themselves
        ],
    )
    def test_several_who_leave_it_less_than_half_a_core(
        self, others: tuple[float, ...], siblings: float, said: str, row: float | None
    ) -> None:
        strangers = [process(cpu, "backup", OTHER) for cpu in others]
        strangers = [replace(each, process=replace(each.process, pid=8 + n)) for n, each in enumerate(strangers)]
        rows = (replace(process(33.0, "uwsgi", "uwsgi"), wait=67.0), process(siblings, "nginx", "nginx"), *strangers)
        cores = (CoreShares(0, busy(99.0)), CoreShares(1, busy(9.0)))
        groups = (
            group(33.0, name="uwsgi", role=Role.APPLICATION, wait=67.0),
            group(siblings, name="nginx", role=Role.PROXY, wait=siblings),
        )
        found = of_host(CPU_CORE, host(cpu=busy(54.0), cores=cores, processes=rows, groups=groups))
        assert found.over
        assert said in advice(found)
        assert [each[1] for each in found.evidence if each[0] == "other.backup.cpu_pct"] == ([row] if row else [])

    def test_servers_that_share_a_core_get_the_others(self) -> None:
        rows = (replace(process(45.0, "gunicorn", "gunicorn"), wait=52.0), process(40.0, "nginx", "nginx"))
        cores = (CoreShares(0, busy(99.0)), CoreShares(1, busy(9.0)))
        groups = (
            group(45.0, name="gunicorn", role=Role.APPLICATION, wait=52.0, processes=2),
            group(40.0, name="nginx", role=Role.PROXY, processes=2),
        )
        found = of_host(CPU_CORE, host(cpu=busy(54.0), cores=cores, processes=rows, groups=groups))
        assert found.over
        assert "Let the 4 web server processes use more cores" in advice(found)

    def test_a_strange_name_in_evidence(self) -> None:
        rows = (process(90.0), process(60.0, "a b\x1b.sh/é" + "x" * 30, OTHER))
        (row,) = (
            row
            for row in of_host(CPU, host(cpu=busy(95.0), groups=(group(),), processes=rows)).evidence
            if row[0].startswith("other.")
        )
        assert row[0] == "other.a_b_.sh__xxxxxxx.cpu_pct"
        assert evidence_title(row[0]) == "a_b_.sh__xxxxxxx uses"

    def test_one_process_gets_no_advice_to_use_more_cores(self) -> None:
        view = host(
            cpu=busy(50.0), cores=(CoreShares(0, busy(99.0)),) * 2, processes=(process(84.0),), groups=(group(86.0),)
        )
        assert "fills one core" in advice(of_host(CPU_CORE, view))

    @pytest.mark.parametrize(
        ("together", "stranger", "over"),
        [(84.5, 0.0, False), (85.0, 0.0, True), (110.0, 49.5, True), (110.5, 0.0, False), (100.0, 50.0, False)],
    )
    def test_many_processes_bound_to_one(self, together: float, stranger: float, over: bool) -> None:
        rows = (process(together / 4), process(stranger, "backup", OTHER), process(0.1, "idle", OTHER))
        groups = (group(together / 2, processes=3), group(together / 2, name="fpm", role=Role.APPLICATION, processes=5))
        cores = (CoreShares(0, busy(96.0)), CoreShares(1, busy(10.0)))
        found = of_host(CPU_CORE, host(cpu=busy(53.0), cores=cores, processes=rows, groups=groups))
        assert found.over is over
        assert ("Let the 8 web server processes use more cores" in advice(found)) is over

    @pytest.mark.parametrize(
        ("share", "steal", "full"),
        [(90.0, 0.0, False), (85.5, 5.0, False), (86.0, 5.0, True), (72.5, 20.0, True), (78.0, 20.0, True)],
    )
    def test_what_the_hypervisor_delivers_counts(self, share: float, steal: float, full: bool) -> None:
        """Four fifths of a core are all of it where a fifth is stolen."""
        view = host({"scheduler": Scheduler(0, 0, 0, 3)}, cpu=busy(share, steal))
        assert of_host(CPU, view).over is full
        assert value(of_host(CPU, view), "cpu.steal_pct") == (steal or None)
        cores = (CoreShares(0, busy(share, steal)), CoreShares(1, busy(5.0)))
        rows, groups = (process(share),), (group(share),)
        found = of_host(CPU_CORE, host(cpu=busy(share / 2, steal / 2), cores=cores, processes=rows, groups=groups))
        assert found.over is (share / (1 - steal / 100) > 95.0)
        bound = host(cpu=busy(share / 2, steal / 2), cores=cores, processes=(process(9.0),), groups=groups)
        assert of_host(CPU_CORE, bound).over is found.over

    @pytest.mark.parametrize(("idle", "over"), [(19.5, True), (20.5, False)])
    def test_steal_beside_an_idle_core_is_not_a_limit(self, idle: float, over: bool) -> None:
        cores = (CoreShares(0, busy(70.0, 30.0)), CoreShares(1, busy(99.0 - idle, 1.0)))
        assert of_host(STEAL, host(cpu=busy(80.0, 15.0), cores=cores)).over is over

    def test_what_strangers_miss_keeps_no_request_waiting(self) -> None:
        rows = (process(150.0, "backup", OTHER),)
        for wait, over in ((0.0, False), (300.0, True)):
            groups = (group(5.0, wait=wait, threads=20),)
            assert of_host(STEAL, host(cpu=busy(80.0, 15.0), processes=rows, groups=groups)).over is over

    @pytest.mark.parametrize(
        ("share", "steal", "over", "held"),
        [
            (80.5, 10.0, False, True),
            (80.5, 10.5, True, True),
            (79.5, 10.5, False, True),
            (70.0, 10.0, False, False),
            (70.5, 10.0, False, True),
            (85.0, 5.0, False, False),
            (85.0, 5.5, False, True),
        ],
    )
    def test_stolen_time(self, share: float, steal: float, over: bool, held: bool) -> None:
        found = of_host(STEAL, host(cpu=busy(share, steal)))
        assert states(found) == (over, held)
        assert found.confidence == 0.9
        assert f"about {steal / 50:.1f} of 2 cores" in advice(found)
        assert of_host(STEAL, host({"scheduler": Scheduler(0, 0, 0, 3)}, cpu=busy(share, steal))).confidence == 1.0
        assert of_host(STEAL, host({"scheduler": None}, cpu=busy(share, steal))).confidence == 0.95

    @pytest.mark.parametrize(
        ("share", "lost", "over", "held", "confidence"),
        [
            (25.0, 100.0, False, True, 0.95),
            (25.5, 20.5, True, True, 0.95),
            (25.5, 20.0, False, True, 0.9),
            (25.5, None, True, True, 0.925),
            (50.0, 100.0, True, True, 0.95),
            (50.5, 100.0, True, True, 1.0),
            (10.5, 100.0, False, True, 0.95),
            (10.0, 100.0, False, False, 0.95),
        ],
    )
    def test_quota(self, share: float, lost: float | None, over: bool, held: bool, confidence: float) -> None:
        view = host({"cgroup": CgroupLimits("/web", 2, 50_000, 100_000)}, cgroup=CgroupRates(share, lost, 0.0, None))
        found = of_host(THROTTLED, view)
        assert states(found) == (over, held)
        assert found.confidence == confidence

    def test_quotas_of_several_servers(self) -> None:
        """The one that costs its server most counts, whatever its place."""
        sample = {
            "cgroup": CgroupLimits("/web", 2, 150_000, 100_000),
            "more_cgroups": (CgroupLimits("/proxy", 2), CgroupLimits("/fpm", 2, 50_000, 100_000)),
        }
        for web, lost, said in (
            (1.0, 100.0, "/fpm of the server is throttled in 40 %"),
            (45.0, 101.0, "/web of the server is throttled in 45 %"),
            (80.0, 8.0, "/fpm of the server is throttled in 40 %"),
            (20.0, 900.0, "/fpm of the server is throttled in 40 %"),
        ):
            rates = CgroupRates(40.0, 100.0, 0.0, None, "/fpm"), CgroupRates(None, None, 0.0, None, "/proxy")
            found = of_host(THROTTLED, host(sample, cgroup=CgroupRates(web, lost, 0.0, None), more_cgroups=rates))
            assert said in advice(found)
            assert states(found) == (True, True)

    @pytest.mark.parametrize(
        ("limits", "said"),
        [
            (CgroupLimits("/web", 2, 50_000, 100_000), "/web of the server is throttled in 30 % of its periods."),
            (CgroupLimits("/web", 2, 50_000, 100_000), "cores (for example CPUQuota=100%)"),
            (
                CgroupLimits("/web", 1, 50_000, 100_000, servers=("httpd",)),
                "group of httpd is throttled in 30 % of its periods.",
            ),
            (CgroupLimits("/web", 1, 50_000, 100_000), "cores (for example cpu.cfs_quota_us=100000)"),
            (CgroupLimits("/web", 2, 50_000, None), "Raise the CPU quota."),
        ],
    )
    def test_a_quota_of_twice_as_much_is_proposed(self, limits: CgroupLimits, said: str) -> None:
        found = of_host(THROTTLED, host({"cgroup": limits}, cgroup=CgroupRates(30.0, 100.0, 0.0, None)))
        assert said in advice(found)


class TestDiskOfAControlGroup:
    """A limit on a device: requests wait before they reach the disk, which is not busy."""

    def view(self, limit: IoLimitRates, blocked: int, version: int = 2, **rates: Any) -> HostView:
        limits = (replace(limit, most=10 * limit.most), limit)
        group_rates = CgroupRates(None, None, None, None, "/web", limits)
        sample = {"cgroup": CgroupLimits("/web", version)}
        return host(sample, groups=(group(blocked=blocked),), cgroup=group_rates, **rates)

    @pytest.mark.parametrize(
        ("used", "blocked", "over", "held"),
        [
            (90.5, 4, True, True),
            (90.0, 4, False, True),
            (90.5, 3, False, True),
            (90.5, 1, False, False),
            (75.0, 4, False, False),
            (75.5, 2, False, True),
        ],
    )
    def test_a_full_limit(self, used: float, blocked: int, over: bool, held: bool) -> None:
        view = self.view(IoLimitRates("vda", Limited.WRITES, 100, used), blocked)
        found = assessment(DISK, view, load={"in_flight": 10})
        assert (found is not None and found.over, found is not None and found.held) == (over, held)
        if found is not None and found.held:
            assert value(found, "cgroup.io_pct") == used

    @pytest.mark.parametrize(
        ("limited", "version", "said"),
        [
            (Limited.READS, 2, "Raise IOReadIOPSMax of the control group of the server"),
            (Limited.WRITES, 1, "Raise blkio.throttle.write_iops_device of"),
            (Limited.WRITES, 2, "2,048 of 2,048 operations/s allowed on vda are used, and 9 requests are waiting"),
            (Limited.READ_BYTES, 2, "IOReadBandwidthMax"),
            (Limited.WRITTEN_BYTES, 1, "blkio.throttle.write_bps_device"),
            (Limited.WRITTEN_BYTES, 2, "2 of 2 kB/s allowed on vda are used"),
        ],
    )
    def test_it_is_named(self, limited: Limited, version: int, said: str) -> None:
        view = self.view(IoLimitRates("vda", limited, 2048, 2048.0), 9, version)
        assert said in advice(of_host(DISK, view, load={"in_flight": 10}))

    @pytest.mark.parametrize(("util", "named"), [(99.0, "sda"), (20.0, "vda")])
    def test_a_full_disk_is_named_before_it(self, util: float, named: str) -> None:
        disk = DiskRates("sda", util, 30.0, 3.0, 0.0, 100.0, 40.0, swap=False)
        view = self.view(IoLimitRates("vda", Limited.WRITES, 100, 100.0), 9, disks=(disk,))
        assert named in advice(of_host(DISK, view, load={"in_flight": 10}))


class TestDisk:
    def disk(self, name: str = "vda", util: float = 99.0, waits: float = 25.0, queue: float = 0.0) -> DiskRates:
        return DiskRates(name, util, waits, queue, 100.0, 200.0, 40.0, swap=False)

    @pytest.mark.parametrize(
        ("util", "waits", "queue", "blocked", "over", "held"),
        [
            (95.0, 25.0, 0.0, 4, False, True),
            (95.5, 20.0, 0.0, 4, True, True),
            (95.5, 19.5, 1.9, 4, False, True),
            (95.5, 19.5, 2.0, 4, True, True),
            (95.5, 25.0, 0.0, 3, False, True),
            (95.5, 25.0, 0.0, 2, False, True),
            (95.5, 25.0, 0.0, 1, False, False),
            (80.5, 25.0, 0.0, 4, False, True),
            (80.0, 25.0, 0.0, 4, False, False),
        ],
    )
    def test_busy_and_waited_for(
        self, util: float, waits: float, queue: float, blocked: int, over: bool, held: bool
    ) -> None:
        groups = (group(blocked=blocked, processes=10, threads=20),)
        found = of_host(DISK, host(disks=(self.disk("vda", util, waits, queue),), groups=groups))
        assert states(found) == (over, held)
        assert found.confidence == (0.95 if waits >= 20.0 else 0.9)
        assert f"{blocked} of 10 requests in flight wait for the disk vda" in advice(found)

    @pytest.mark.parametrize(("stall", "confidence"), [(10.0, 0.95), (10.5, 1.0)])
    def test_stalls_are_a_vote(self, stall: float, confidence: float) -> None:
        view = host(disks=(self.disk(),), groups=(group(blocked=4),), pressure=replace(NO_STALL, io_some=stall))
        assert of_host(DISK, view).confidence == confidence

    @pytest.mark.parametrize(
        ("flying", "blocked", "over"), [(None, 2, True), (None, 1, False), (0, 1, True), (1, 1, True), (4, 1, False)]
    )
    def test_a_part_of_the_requests_in_flight(self, flying: int | None, blocked: int, over: bool) -> None:
        view = host(disks=(self.disk(),), groups=(group(blocked=blocked),))
        assert of_host(DISK, view, load={"in_flight": flying}).over is over

    def test_of_several_the_one_with_most_requests_under_way_counts(self) -> None:
        disks = (self.disk("vda", util=100.0, queue=0.4), self.disk("vdb", util=50.0, queue=2.0))
        assert of_host(DISK, host(disks=disks)).evidence[0][0] == "disk.vdb.util_pct"

    @pytest.mark.parametrize(
        ("groups", "blocked"),
        [
            ((), 9),
            ((group(blocked=3, processes=2, threads=4),), 3),
            ((group(blocked=3, processes=2, threads=5),), 9),
            ((group(blocked=3, processes=2, threads=5), group(name="nginx", blocked=1)), 9),
            ((group(blocked=3, processes=2, threads=5), group(name=SERVICE, role=Role.APPLICATION)), 9),
            ((group(blocked=3, processes=2, threads=5), group(name=OTHER, role=None, blocked=4)), 5),
            ((group(blocked=3, processes=2, threads=5), group(name=OTHER, role=None, blocked=14)), 0),
            ((group(blocked=3, processes=2, threads=5), group(name="fpm", role=Role.APPLICATION, blocked=1)), 4),
        ],
    )
    def test_whose_tasks_wait(self, groups: tuple[GroupRates, ...], blocked: int) -> None:
        view = host({"scheduler": Scheduler(0, 0, 0, 1, 9)}, disks=(self.disk(),), groups=groups)
        assert value(of_host(DISK, view), "blocked") == blocked


class TestMemory:
    @pytest.mark.parametrize(
        ("traffic", "stall", "faults", "own", "over", "held"),
        [
            (40.0, 50.0, 200.0, None, False, True),
            (40.5, 10.0, 99.0, None, True, True),
            (40.5, 9.5, 100.0, None, True, True),
            (40.5, 9.5, 99.0, None, False, True),
            (40.5, None, 99.0, None, False, True),
            (40.5, 9.5, None, None, False, True),
            (40.5, None, None, None, True, True),
            (10.5, 50.0, 200.0, None, False, True),
            (10.0, 50.0, 200.0, None, False, False),
            (40.5, 50.0, 200.0, 1.0, True, True),
            (40.5, 50.0, 200.0, 0.9, False, False),
        ],
    )
    def test_swapping(
        self, traffic: float, stall: float | None, faults: float | None, own: float | None, over: bool, held: bool
    ) -> None:
        paging = replace(NO_PAGING, swap_in_kb=traffic - 3.0, swap_out_kb=3.0, major_faults=faults)
        pressure = None if stall is None else replace(NO_STALL, memory_some=stall)
        mine = None if own is None else CgroupRates(None, None, None, replace(NO_STALL, memory_some=own))
        sample = {"cgroup": CgroupLimits("/web", 2)}
        assert states(of_host(SWAP, host(sample, paging=paging, pressure=pressure, cgroup=mine))) == (over, held)

    def test_swapping_of_a_second_server(self) -> None:
        """The web server's group never waits for memory, that of the application does."""
        paging = replace(NO_PAGING, swap_in_kb=40.5, major_faults=200.0)
        sample = {"cgroup": CgroupLimits("/web", 2), "more_cgroups": (CgroupLimits("/fpm", 2),)}
        for own, over in ((2.0, True), (0.9, False)):
            web, fpm = (
                CgroupRates(None, None, None, replace(NO_STALL, memory_some=stall), path)
                for stall, path in ((0.0, "/web"), (own, "/fpm"))
            )
            view = host(
                sample, paging=paging, pressure=replace(NO_STALL, memory_some=50.0), cgroup=web, more_cgroups=(fpm,)
            )
            assert states(of_host(SWAP, view)) == (over, over)

    @pytest.mark.parametrize(
        ("available", "used", "again", "stall", "over", "held"),
        [
            (99_000, None, 501.0, 10.5, True, True),
            (100_000, None, 501.0, 10.5, False, False),
            (None, 9_010, 501.0, 10.5, True, True),
            (500_000, 9_010, 501.0, 10.5, True, True),
            (500_000, 9_000, 501.0, 10.5, False, False),
            (99_000, None, 500.0, 10.5, False, True),
            (99_000, None, 126.0, 10.5, False, True),
            (99_000, None, 125.0, 10.5, False, False),
            (99_000, None, 501.0, 10.0, False, True),
            (99_000, None, 501.0, 4.5, False, True),
            (99_000, None, 501.0, 4.0, False, False),
            (99_000, None, 501.0, None, True, True),
        ],
    )
    def test_too_small(
        self, available: int | None, used: int | None, again: float, stall: float | None, over: bool, held: bool
    ) -> None:
        limits = None if used is None else CgroupLimits("/web", 2, memory_limit_kb=10_000, memory_used_kb=used)
        sample = {"memory": Memory(1_000_000, 0, available), "cgroup": limits}
        pressure = None if stall is None else replace(NO_STALL, memory_some=stall)
        for paging in ({"refaults_pages": again}, {"direct_reclaimed_pages": again}):
            view = host(sample, paging=replace(NO_PAGING, **paging), pressure=pressure)
            found = of_host(MEMORY, view)
            assert states(found) == (over, held)
            assert ("Raise the 9 MB limit" in advice(found)) is (used is not None)

    @pytest.mark.parametrize("of_web", [5_000, 20_000])  # full of files that were read once, and calm
    def test_the_full_control_group_that_waits_counts(self, of_web: int) -> None:
        limits = CgroupLimits("/web", 2, memory_limit_kb=20_000, memory_used_kb=of_web)
        more = CgroupLimits("/fpm", 2, memory_limit_kb=10_000, memory_used_kb=9_500, servers=("php-fpm",))
        own = CgroupRates(None, None, 0.0, replace(NO_STALL, memory_some=50.0), "/fpm")
        sample = {"memory": Memory(1_000_000, 0, 500_000), "cgroup": limits, "more_cgroups": (more,)}
        calm = CgroupRates(None, None, 0.0, NO_STALL, "/web")
        view = host(sample, paging=replace(NO_PAGING, refaults_pages=501.0), cgroup=calm, more_cgroups=(own,))
        found = of_host(MEMORY, view)
        assert states(found) == (True, True)
        assert value(found, "cgroup.memory_pct") == 95.0
        assert "Raise the 9 MB limit of the control group of php-fpm." in advice(found)

    @pytest.mark.parametrize(("name", "workers"), [("httpd", 200), ("php-fpm", 80)])
    def test_each_server_has_the_room_of_its_control_group(self, name: str, workers: int) -> None:
        sample = {
            "cgroup": CgroupLimits("/web", 2, memory_limit_kb=25_000, servers=("httpd",)),
            "more_cgroups": (CgroupLimits("/fpm", 2, memory_limit_kb=10_000, servers=("php-fpm",)),),
        }
        room = known(worker_room(host(sample, groups=(group(processes=100, name=name),)), name))
        assert room.workers == workers

    @pytest.mark.parametrize(
        ("pss", "sample", "workers", "each", "free"),
        [
            (None, {}, 100 + 4000, 100.0, 400_000.0),
            (5_000, {}, 100 + 8000, 50.0, 400_000.0),
            (None, {"swap": Swap(20_000, 10_000)}, 50 + 2000, 200.0, 400_000.0),
            (None, {"cgroup": CgroupLimits("/", 2, memory_limit_kb=25_000)}, 200, 100.0, 10_000.0),
            (None, {"cgroup": CgroupLimits("/", 2, memory_limit_kb=5_000)}, 40, 100.0, 0.0),
            (None, {"cgroup": CgroupLimits("/", 2, memory_limit_kb=50)}, 1, 100.0, 0.0),
        ],
    )
    def test_room_for_workers(
        self, pss: int | None, sample: dict[str, Any], workers: int, each: float, free: float
    ) -> None:
        room = known(worker_room(host(sample, groups=(group(processes=100, pss_kb=pss),)), "httpd"))
        assert (room.workers, room.each_kb, room.free_kb) == (workers, each, free)
        assert str(room.basis).startswith("RSS" if pss is None else "PSS")


class TestNetwork:
    def line(
        self, name: str, util: float | None, link: int | None, rx: float = 100.0, tx: float = 50.0
    ) -> NetworkRates:
        return NetworkRates(name, rx, tx, 0.0, 0.0, 0.0, link, util)

    @pytest.mark.parametrize(
        ("util", "again", "over", "held", "confidence"),
        [
            (85.0, 0.0, False, True, 0.9),
            (85.5, 5.0, True, True, 0.9),
            (75.5, 5.5, False, True, 0.95),
            (75.0, None, False, False, 0.925),
            (95.0, 6.0, True, True, 0.95),
            (95.5, 6.0, True, True, 1.0),
        ],
    )
    def test_a_line(self, util: float, again: float | None, over: bool, held: bool, confidence: float) -> None:
        tcp = None if again is None else TcpRates(0.0, 0.0, again, 0.0, 0.0, 0, 0, 0)
        found = of_host(NETWORK, host(networks=(self.line("eth0", util, 100),), tcp=tcp))
        assert states(found) == (over, held)
        assert found.confidence == confidence
        assert [row[4] for row in found.evidence if row[3] == "Mbit/s"] == ["line speed"]

    @pytest.mark.parametrize(
        ("role", "rx", "tx", "said", "remedy"),
        [
            ("target", 12_000.0, 11_000.0, "eth0 receives 98.3 of 100 Mbit/s", "Send less to this host"),
            ("target", 12_000.0, 12_000.0, "eth0 sends 98.3 of 100 Mbit/s", "Compress responses"),
            ("generator", 12_000.0, 11_000.0, "eth0 receives 98.3 of 100 Mbit/s", "Compress responses"),
            ("generator", 12_000.0, 12_000.0, "eth0 sends 98.3 of 100 Mbit/s", "Send smaller request bodies"),
        ],
    )
    def test_its_fuller_direction(self, role: str, rx: float, tx: float, said: str, remedy: str) -> None:
        lines = self.line("eth0", 98.3, 100, rx, tx), self.line("eth1", 50.0, 10)
        found = of_host(NETWORK, host(role=role, networks=lines))
        assert value(found, f"network.eth0.{'tx' if tx >= rx else 'rx'}_mbit_s") == pytest.approx(98.304)
        assert said in advice(found)
        assert advice(found).startswith(remedy)

    @pytest.mark.parametrize(
        ("drops", "backlog", "confidence"), [(0.0, 0, 0.933), (3.0, 0, 0.967), (0.0, 5, 0.967), (None, 0, 0.933)]
    )
    def test_a_line_that_a_queueing_discipline_shapes(
        self, drops: float | None, backlog: int, confidence: float
    ) -> None:
        shaped = replace(
            self.line("eth0", 98.3, 1000, 12_000.0, 240.0), shaped_mbit=2.0, queue_drops=drops, queue_overlimits=0.0,
            queue_backlog=backlog,
        )  # fmt: skip
        found = of_host(NETWORK, host(networks=(shaped,)))
        assert states(found) == (True, True)
        assert value(found, "network.eth0.tx_mbit_s") == pytest.approx(1.966, abs=0.001)
        assert value(found, "network.eth0.queue_backlog") == backlog
        assert [row[4] for row in found.evidence if row[3] == "Mbit/s"] == ["tc qdisc: rate"]
        assert "eth0 sends 1.97 of the 2 Mbit/s allowed" in advice(found)
        assert found.confidence == confidence

    @pytest.mark.parametrize(
        ("far", "near", "named", "over", "held"),
        [
            (97.6, 98.6, "there", True, True),
            (95.0, 97.6, "here", True, True),
            (84.5, 85.5, "here", True, True),
            (74.5, 75.5, "there", False, True),
            (73.0, 74.9, "there", False, False),
        ],
    )
    def test_of_two_ends_of_one_line_that_with_a_rate_is_named(
        self, far: float, near: float, named: str, over: bool, held: bool
    ) -> None:
        shaped = replace(self.line("there", far, 10_000, 100.0, 7_000.0), shaped_mbit=60.0, queue_backlog=0)
        for lines in permutations((self.line("here", near, 60, 7_000.0, 100.0), shaped)):
            found = of_host(NETWORK, host(networks=lines))
            assert states(found) == (over, held)
            assert value(found, f"network.{named}.util_pct") == (far if named == "there" else near)
            forecast = fullest(host(networks=lines))
            assert forecast is not None
            assert forecast.util == near

    def test_receiving_on_a_shaped_line_has_its_own_speed(self) -> None:
        shaped = replace(self.line("eth0", 98.3, 100, 12_000.0, 24.0), shaped_mbit=2.0, queue_backlog=0)
        found = of_host(NETWORK, host(networks=(shaped,)))
        assert "eth0 receives 98.3 of 100 Mbit/s" in advice(found)
        with pytest.raises(StopIteration):
            value(found, "network.eth0.queue_backlog")

    @pytest.mark.parametrize(
        ("role", "remedy"),
        [
            ("target", "Raise the rate of the policer (tc filter), or send less"),
            ("generator", "Raise the rate of the pol"),
        ],
    )
    def test_a_line_that_a_policer_limits(self, role: str, remedy: str) -> None:
        line = self.line("eth0", 98.3, 1000, 240.0, 12.0)
        found = of_host(NETWORK, host(role=role, networks=(replace(line, policed_mbit=2.0, policed_drops=7.0),)))
        assert states(found) == (True, True)
        assert value(found, "network.eth0.policed_drops_s") == 7.0
        assert [row[4] for row in found.evidence if row[3] == "Mbit/s"] == ["tc filter: police rate"]
        assert advice(found).startswith(remedy)
        assert "1.97 Mbit/s arrive at eth0, where 2 are allowed" in advice(found)
        assert found.confidence == 0.967

    def test_a_line_of_unknown_speed_is_never_full(self) -> None:
        view = host(networks=(self.line("eth0", None, None), self.line("eth1", 99.0, 0)))
        assert assessment(NETWORK, view) is None

    @pytest.mark.parametrize(
        ("overflows", "own", "other", "flying", "over"),
        [
            (0.0, Listener(8080, 9, 8), None, 10, False),
            (0.5, None, None, 10, True),
            (0.5, Listener(8080, 1, 511), Listener(22, 128, 128), 10, True),
            (0.5, Listener(8080, 0, 511), Listener(22, 128, 128), 1000, False),
            (0.5, Listener(8080, 0, 511), Listener(22, 127, 128), 512, True),
            (0.5, Listener(8080, 0, 511), Listener(22, 127, 128), 511, False),
            (0.5, Listener(8080, 0, 511), Listener(22, 0, 0), None, True),
        ],
    )
    def test_whose_accept_queue_overflows(
        self, overflows: float, own: Listener | None, other: Listener | None, flying: int | None, over: bool
    ) -> None:
        listeners = tuple(each for each in (other, own) if each is not None)
        view = host({"tcp": Tcp(0, 0, 0, listeners=listeners)}, tcp=TcpRates(overflows, 0.0, 0.0, 0.0, 0.0, 0, 0, 0))
        seen = ServerSeen("Apache", "web1", 8080, "/")
        found = of_host(LISTEN_QUEUE, view, load={"server": seen, "in_flight": flying, "concurrency": 300})
        assert states(found) == (over, over)
        assert ("port 8080 (backlog" in advice(found)) is (own is not None)
        assert "somaxconn to 600" in advice(found)
        assert found.confidence == (
            0.95 if own is None else round(0.9 + 0.05 * ((own.queue >= (own.backlog or 0)) + (own.queue > 0)), 3)
        )
