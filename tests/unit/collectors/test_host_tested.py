"""Which servers of a machine count where the load goes to several."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from collectors.host import HostCollector
from collectors.machine import Endpoint
from loadtop.servers.apache.kind import APACHE
from tests.unit.collectors.fake_machine import PAGE, FakeMachine

Instantly = Callable[[Any], Any]


@pytest.mark.parametrize("elsewhere", [(), ("http://web1:9000/",)], ids=["", "and-another-kind-of-server"])
def test_each_server_under_load_has_its_page(instantly: Instantly, elsewhere: tuple[str, ...]) -> None:
    """One page also of a server under load by two names, and none of a server that is not."""

    async def run() -> None:
        machine = FakeMachine()
        machine.httpd = {pid: (Endpoint("0.0.0.0", 8000 + pid),) for pid in (10, 20, 30)}  # noqa: S104
        own, others = "http://web1:8010/server-status?auto", "http://127.0.0.1:8030/server-status?auto"
        machine.pages = dict.fromkeys((own, others, "http://127.0.0.1:8020/server-status?auto"), PAGE)
        urls = ["http://web1:8010/", "http://web1:8030/", "http://shop:8010/", *elsewhere]
        host = HostCollector("web1", "target", machine, target_urls=urls)
        await host.start(1.0)
        await asyncio.sleep(2.5)
        sample, _ = host.latest()
        assert sample is not None
        assert [status.url for status in APACHE.readings(sample) or ()] == [own, others]
        assert machine.aside == frozenset({20})
        await host.close()

    instantly(run())


def test_where_one_server_is_hidden_all_may_be_under_load(instantly: Instantly) -> None:
    """It can be the one that a URL leads to, where none of the others listens."""

    async def run() -> None:
        machine = FakeMachine()
        machine.httpd = {10: (Endpoint("0.0.0.0", 8010),), 20: (Endpoint("0.0.0.0", 8020),), 30: ()}  # noqa: S104
        host = HostCollector("web1", "target", machine, target_urls=["http://web1:8010/", "http://web1:8030/"])
        await host.start(1.0)
        await asyncio.sleep(2.5)
        assert machine.aside == frozenset()
        await host.close()

    instantly(run())
