"""Where the statistics of HAProxy are looked for, and how its socket is asked."""

import pytest

from collectors.errors import FetchError
from collectors.haproxy.collector import FIX, HaproxyCollector
from collectors.haproxy.configuration import LAYOUT, SOCKETS
from collectors.machine import Endpoint, Missing
from loadtop.model import Cause
from loadtop.servers.haproxy.record import HaproxyProxy
from tests.unit.collectors.fake_machine import FakeMachine, collector_of
from tests.unit.collectors.instant import instantly

CONFIG = """\
global
    stats socket /run/own.sock # level user
    stats socket ipv4@:9999
    stats socket abns@hidden
defaults
    stats enable
frontend www
    bind :80
    bind :81 ssl
"""
URLS = (
    *("unix:/run/own.sock", "tcp://127.0.0.1:9999"),
    *("http://127.0.0.1:80/haproxy?stats;csv", "https://127.0.0.1:81/haproxy?stats;csv"),
)


@pytest.mark.parametrize(
    ("config", "said", "cause"),
    [
        (CONFIG, f"`global` section of {LAYOUT}, and reload HAProxy", None),
        (None, f"its configuration is unknown ({LAYOUT}: no such file)", Cause.ROOT),
        (Missing("not permitted"), f"its configuration is unknown ({LAYOUT}: not permitted)", Cause.ROOT),
    ],
)
@instantly
async def test_places_of_its_statistics(config: str | Missing | None, said: str, cause: Cause | None) -> None:
    machine = FakeMachine()
    machine.files |= {"/proc/7/cmdline": "haproxy\0"} | ({} if config is None else {LAYOUT: config})
    machine.httpd = {7: (Endpoint("127.0.0.1", 80), Endpoint("127.0.0.1", 81))}
    ((urls, error),) = await collector_of(HaproxyCollector, machine).candidates((7,))
    assert error is not None
    assert said in str(error)
    assert (error.cause, error.fix) == (cause, FIX if config is CONFIG else "")
    if config is CONFIG:
        assert urls == URLS
    else:
        usual = ["stats;csv", "haproxy?stats;csv", "haproxy_stats;csv", "haproxy?stats;csv"]
        pages = [f"http://127.0.0.1:{port}/{path}" for port in (80, 81) for path in usual]
        assert urls == [*(f"unix:{path}" for path in SOCKETS), *pages][:12]


@instantly
async def test_its_socket() -> None:
    machine = FakeMachine()
    machine.answers = {"/s": b"# pxname\xff", "/t": b"Permission denied\n"}
    page = await collector_of(HaproxyCollector, machine).fetch("unix:/s", 1.0)
    assert (page.status, page.text) == (200, "# pxname\ufffd")
    with pytest.raises(FetchError, match="socket refuses"):
        await collector_of(HaproxyCollector, machine).fetch("unix:/t", 1.0)
    machine.pages["http://web1/stats;csv"] = "table"
    assert (await collector_of(HaproxyCollector, machine).fetch("http://web1/stats;csv", 1.0)).text == "table"


def test_a_line_that_two_places_tell_counts_once() -> None:
    lines = [HaproxyProxy("be", name, "UP", None, sessions, None, 0, 0, 0) for name, sessions in (("a", 1), ("a", 2))]
    assert collector_of(HaproxyCollector).merged(lines) == (lines[0],)
