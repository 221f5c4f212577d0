"""The generator's count against Apache's own log."""

import asyncio
import ssl
from pathlib import Path

import pytest

from loadtop.generator.pool import LoadPool
from loadtop.model import LoadState
from tests.loads.running import plan, run_load, until_requests
from tests.servers.apache import ApacheFactory

pytestmark = pytest.mark.servers
BOTH = pytest.mark.parametrize("keepalive", [True, False])
PAGE = b"x" * 1024


@BOTH
@pytest.mark.parametrize("workers", [1, 2])
async def test_requests_and_bytes_are_those_in_the_access_log(
    apache: ApacheFactory, keepalive: bool, workers: int
) -> None:
    server = apache(pages={"a.html": PAGE})
    what = plan(server.url + "a.html", requests=3001, concurrency=8, keepalive=keepalive, workers=workers)
    run = await run_load(what)
    logged = server.logged()
    assert run.last.state is LoadState.DONE
    assert run.last.requests == len(logged) == 3001
    assert run.last.failed == run.last.non_2xx == 0
    assert run.last.body_bytes == sum(entry.body_bytes for entry in logged) == 3001 * 1024
    assert run.last.received_bytes == sum(entry.sent_bytes for entry in logged)
    # With keep-alive, Apache counts the first byte of the next request too where it is there already.
    size = (run.last.sent_bytes or 0) // 3001
    assert {entry.received_bytes for entry in logged} <= {size, size + keepalive}
    assert run.last.keepalive_requests == (3001 if keepalive else 0)


@BOTH
async def test_requests_of_a_timed_load_are_those_in_the_access_log(apache: ApacheFactory, keepalive: bool) -> None:
    server = apache(pages={"a.html": PAGE})
    run = await run_load(plan(server.url + "a.html", seconds=1.0, concurrency=8, keepalive=keepalive))
    assert run.last.requests == len(server.requests())
    assert run.requests > 100


async def test_a_limit_of_requests_per_connection_costs_none(apache: ApacheFactory) -> None:
    server = apache(pages={"a.html": PAGE}, extra="MaxKeepAliveRequests 7")
    run = await run_load(plan(server.url + "a.html", requests=1000, concurrency=8, keepalive=True))
    assert run.last.requests == len(server.requests()) == 1000
    assert run.last.failed == 0
    assert max(entry.reused for entry in server.logged()) == 7


async def test_php_pages_are_chunked_and_counted(apache: ApacheFactory) -> None:
    page = "<?php for ($i = 0; $i < 3; $i++) { echo str_repeat('x', 1000 * $i + 1); flush(); }"
    server = apache(mpm="prefork", php="mod", pages={"a.php": page})
    run = await run_load(plan(server.url + "a.php", requests=200, keepalive=True))
    assert run.last.failed == 0
    assert run.last.requests == len(server.requests()) == 200
    assert run.last.body_bytes == 200 * 3003


async def test_a_missing_page(apache: ApacheFactory) -> None:
    server = apache()
    run = await run_load(plan(server.url + "nothing", requests=50, keepalive=True))
    assert run.last.non_2xx == 50
    assert str(run.last.message).endswith("is the path right?")
    assert {entry.status for entry in server.logged()} == {404}


async def test_a_server_that_is_killed(apache: ApacheFactory) -> None:
    server = apache(pages={"a.html": PAGE})

    async def kill(pool: LoadPool) -> None:
        await until_requests(pool, 100)
        await asyncio.to_thread(server.kill)

    run = await run_load(plan(server.url + "a.html", seconds=60, keepalive=True), during=kill)
    assert run.last.state is LoadState.FAILED
    assert "stopped answering" in str(run.last.message)


@BOTH
async def test_an_untrusted_certificate_is_refused_unless_allowed(apache: ApacheFactory, keepalive: bool) -> None:
    server = apache(tls=True, pages={"a.html": PAGE})
    refused = await run_load(plan(server.url + "a.html", requests=50, keepalive=keepalive))
    assert refused.last.state is LoadState.FAILED
    assert "certificate" in str(refused.last.message)
    assert "--insecure" in str(refused.last.message)
    allowed = await run_load(plan(server.url + "a.html", requests=50, keepalive=keepalive, verify_tls=False))
    assert allowed.last.state is LoadState.DONE
    assert allowed.last.requests == len(server.requests()) == 50
    assert allowed.last.failed == 0
    assert allowed.last.server is not None
    assert allowed.last.server.tls.startswith("TLSv1.")


async def test_a_trusted_certificate_is_accepted(apache: ApacheFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    server = apache(tls=True, pages={"a.html": PAGE})
    assert isinstance(server.certificate, Path)
    monkeypatch.setenv(ssl.get_default_verify_paths().openssl_cafile_env, str(server.certificate))
    run = await run_load(plan(server.url + "a.html", requests=50, keepalive=True))
    assert run.last.state is LoadState.DONE
    assert run.last.message == ""


@pytest.mark.parametrize("method", ["POST", "PUT", "HEAD"])
async def test_other_methods(apache: ApacheFactory, method: str) -> None:
    server = apache(mpm="prefork", php="mod", pages={"a.php": "<?= strlen(file_get_contents('php://input')) ?>"})
    body = None if method == "HEAD" else b"z" * 12345
    run = await run_load(plan(server.url + "a.php", requests=40, keepalive=True, method=method, body=body))
    assert run.last.failed == run.last.non_2xx == 0
    assert run.last.requests == len(server.requests()) == 40
    assert run.last.body_bytes == (0 if method == "HEAD" else 40 * 5)
