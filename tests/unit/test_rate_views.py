"""A frame with its rates: which readings, hosts and cores it gives, and how old the newest sample is."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.model import Core, Cpu, CpuTimes, Frame, HostState, Peer, Peers, Role, ServerReading
from loadtop.rates.compute import cpu_shares, host_rates
from loadtop.rates.measured import Measurer
from loadtop.rates.records import PeerRates, ServerRates
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.registry import KINDS
from tests.unit.interval import LOAD, NO_PAGING, SAMPLE, group, host, measured
from tests.unit.known import known

APACHE = ApacheStatus("u", "event", "Apache", "_")
NGINX = NginxStatus("u", 9, 0, 9, 0, accepts=100, handled=100, requests=0, at=10.0)
PROXY = HaproxyProxy("a", "s", "UP", 0, 1, 2, 0, 0, 0)


def rated(*readings: ServerReading) -> tuple[ServerRates[ServerReading], ...]:
    return tuple(ServerRates(each, {}) for each in readings)


def test_readings_of_some_roles_or_of_all() -> None:
    view = host(servers={"apache": rated(APACHE), "haproxy": rated(PROXY), "nginx": rated(NGINX)})
    moment = replace(measured(view), kinds=KINDS)
    assert moment.readings(view, Role.WEB) in ([APACHE, NGINX], [NGINX, APACHE])
    assert moment.readings(view, Role.PROXY) == [PROXY]
    assert len(moment.readings(view)) == 3
    assert moment.readings(replace(view, rates=None)) == []
    assert moment.host("web1") is view
    assert moment.host("web2") is None
    assert [each.reading for each in view.servers("nginx", NginxStatus)] == [NGINX]
    assert view.servers("nginx", ApacheStatus) == ()
    assert replace(view, rates=None).servers("nginx", NginxStatus) == ()


def test_swap_traffic_is_of_both_directions() -> None:
    traffic = [replace(NO_PAGING, swap_in_kb=each, swap_out_kb=2.0) for each in (3.0, None)]
    assert [each.swap_kb for each in (*traffic, replace(NO_PAGING, swap_out_kb=None))] == [5.0, None, None]


def test_groups_are_found_by_name() -> None:
    rates = known(host(groups=(group(1.0), group(2.0, name="nginx"))).rates)
    assert [None if found is None else found.cpu for found in map(rates.group, ("httpd", "nginx", "fpm"))] == [
        1.0,
        2.0,
        None,
    ]


def test_a_sample_that_does_not_come_is_as_old_as_the_last(machine: Any) -> None:
    measurer = Measurer(KINDS)
    state = machine.state()

    def stale(at: float, seen: HostState) -> float:
        (view,) = measurer.measure(Frame(0, at, 0.0, None, (seen,))).hosts
        assert view.rates is None
        return view.stale_s

    assert stale(3.0, replace(state, fresh=False, sample=None)) == 3.0
    assert stale(4.0, state) == 0.0
    assert [stale(at, replace(state, fresh=False)) for at in (5.0, 7.5)] == [1.0, 3.5]
    assert stale(9.0, replace(state, sample=None)) == 5.0


def test_only_dated_readings_of_servers_that_were_missed_are_kept(machine: Any) -> None:
    measurer = Measurer(KINDS)

    def counted(seconds: float, *pages: ServerReading) -> list[float | None]:
        sample = machine.sample(board=None, seconds=seconds, changes={"nginx": pages} if pages else {})
        (view,) = measurer.measure(
            Frame(0, sample.at, 0.0, None, (HostState("web1", "target", sample, fresh=True),))
        ).hosts
        return [each.per_second["accepts"] for each in view.servers("nginx", NginxStatus)]

    def page(accepts: int, at: float | None, url: str = "u") -> NginxStatus:
        return replace(NGINX, url=url, accepts=accepts, at=at)

    begin = machine.at
    assert counted(1.0, page(100, None), page(100, begin + 1.0, "v")) == []
    assert counted(4.5) == []
    assert counted(0.4, page(200, None), page(149, begin + 5.9, "v")) == [None, pytest.approx(10.0)]
    assert counted(5.2) == []
    assert counted(1.0, page(300, begin + 12.1, "v")) == [None]


def test_cores_that_are_in_both_samples_and_were_at_work() -> None:
    def sample(at: float, *cores: Core) -> Any:
        return replace(SAMPLE, at=at, cpu=Cpu(CpuTimes(round(at), 0, 0, 0), cores))

    still = Core(1, CpuTimes(5, 5, 5, 5))
    first = sample(10.0, Core(0, CpuTimes(0, 0, 0, 0)), still)
    rates = known(
        host_rates(first, sample(12.0, Core(0, CpuTimes(1, 0, 0, 3)), still, Core(2, CpuTimes(1, 1, 1, 1))), KINDS)
    )
    assert [(core.id, core.shares.busy) for core in rates.cores] == [(0, 25.0)]
    for before, now in ((replace(first, cpu=None), first), (first, replace(first, cpu=None))):
        without = known(host_rates(replace(before, at=8.0), now, KINDS))
        assert (without.cpu, without.cores) == (None, ())


def test_states_that_are_reported_in_one_sample_only_are_not_known() -> None:
    shares = known(cpu_shares(CpuTimes(0, 0, 0, 0, 7, None), CpuTimes(1, 0, 0, 3, None, 7)))
    assert (shares.user, shares.nice, shares.system, shares.idle) == (25.0, 0.0, 0.0, 75.0)
    assert (shares.iowait, shares.irq, shares.steal, shares.busy) == (None, None, None, 25.0)
    assert cpu_shares(CpuTimes(1, 1, 1, 1), CpuTimes(1, 1, 1, 1)) is None


@pytest.mark.parametrize(("address", "owner"), [
    ("10.0.0.5:3306", "db1"), ("[fd00::5]:5432", "db1"), ("10.0.0.1:80", None), ("172.17.0.1:6379", None),
    ("10.0.0.9:3306", None), ("127.0.0.1:3306", None),
])  # fmt: skip
def test_a_service_is_named_by_the_watched_machine_with_its_address(address: str, owner: str | None) -> None:
    """Machines with containers have an address in common, which says nothing; nor does one that the asker has."""
    addresses = {"web1": ("10.0.0.1", "172.17.0.1"), "db1": ("10.0.0.5", "172.17.0.1", "fd00::5")}

    def frame(at: int, peers: Peers) -> Frame:
        samples = {
            name: replace(SAMPLE, at=100.0 + at, facts=replace(SAMPLE.facts, addresses=its), peers=peers)
            for name, its in addresses.items()
        }
        states = tuple(HostState(name, "target", sample, fresh=True) for name, sample in samples.items())
        return Frame(at, float(at), 0.0, None, states)

    measurer = Measurer(KINDS)
    measurer.measure(frame(0, Peers(0)))
    rates = known(measurer.measure(frame(1, Peers(5, (Peer(address, None, 1, 5, 5, 5, 5),)))).hosts[0].rates)
    assert [peer.host for peer in rates.peers or ()] == [owner]


def test_the_services_that_a_server_asks_stay_until_connections_are_read_again() -> None:
    """For the breakdown, under the same load. Exchanges are over the time since the reading before."""

    def asked(at: int, readings: int, segments: int, concurrency: int = 8) -> tuple[PeerRates, ...] | None:
        peers = Peers(readings, (Peer("10.0.0.5:3306", "mysql", 1, 5 * readings, 0, 0, segments),))
        sample = replace(SAMPLE, at=100.0 + at, peers=peers)
        load = replace(LOAD, at=float(at), concurrency=concurrency)
        frame = Frame(at, float(at), 0.0, load, (HostState("web1", "target", sample, fresh=True),))
        rates = measurer.measure(frame).hosts[0].rates
        assert rates is None or rates.peers is None or rates.peers_before is None
        return None if rates is None else rates.peers or rates.peers_before

    measurer = Measurer(KINDS)
    assert asked(0, 1, 0) is None
    first = known(asked(1, 2, 100))
    assert first[0].exchanges == 100.0
    assert asked(2, 2, 100) == asked(3, 2, 100) == first
    later = known(asked(4, 3, 400))
    assert later[0].exchanges == 100.0
    for at in range(5, 9):
        assert asked(at, 3, 400) == later
    assert asked(9, 3, 400) is None, "they are too old"
    assert asked(10, 4, 1000)
    assert asked(11, 4, 1000, concurrency=9) is None, "the load is another"
    assert asked(30, 1, 0) is None, "readings began again"
    (anew,) = known(asked(31, 2, 50))
    assert anew.exchanges == 50.0
