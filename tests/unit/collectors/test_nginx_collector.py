"""How nginx's page is asked for."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from collectors.errors import FetchError, SilentError
from collectors.machine import Machine, Page
from collectors.nginx.collector import NginxCollector
from collectors.servers import KINDS
from collectors.under_test import UnderTest
from loadtop.i18n import verbatim
from tests.unit.collectors.fake_machine import FakeMachine

URL = "http://web1/nginx_status"
PAGE = "Active connections: 1 \nserver accepts handled requests\n 7 7 9 \nReading: 0 Writing: 1 Waiting: 0 \n"
Instantly = Callable[[Any], Any]


class Dropping(FakeMachine):
    """Closes the first connections without an answer."""

    def __init__(self, drops: int, error: type[FetchError] = FetchError) -> None:
        super().__init__()
        self.drops, self.failure = drops, error
        self.pages[URL] = PAGE

    async def fetch(self, url: str, timeout_s: float) -> Page:
        page = await super().fetch(url, timeout_s)
        if len(self.fetched) <= self.drops:
            raise self.failure(verbatim("closed"))
        return page


def collector_of(machine: FakeMachine) -> NginxCollector:
    known = cast("Machine", machine)
    return NginxCollector(known, (), UnderTest(known, KINDS, ["http://web1/"]))


def test_a_page_whose_connection_is_dropped_is_asked_for_anew(instantly: Instantly) -> None:
    machine = Dropping(3)
    page = instantly(collector_of(machine).fetch(URL, 1.0))
    assert (page.text, len(machine.fetched)) == (PAGE, 4)


def test_it_is_given_up_after_a_while(instantly: Instantly) -> None:
    machine = Dropping(1000)
    with pytest.raises(FetchError):
        instantly(collector_of(machine).fetch(URL, 1.0))
    assert 10 <= len(machine.fetched) <= 25


def test_a_silent_server_is_not_asked_twice(instantly: Instantly) -> None:
    machine = Dropping(1000, SilentError)
    with pytest.raises(SilentError):
        instantly(collector_of(machine).fetch(URL, 1.0))
    assert len(machine.fetched) == 1


def test_where_no_nginx_runs_no_page_is_looked_for(instantly: Instantly) -> None:
    machine = Dropping(0)
    collector = collector_of(machine)

    async def look() -> None:
        await collector.search_pages(())

    instantly(look())
    assert machine.fetched == []
    assert str(collector.why_none) == "no nginx process here"
