"""Errors of connecting: one line, about the right host, with the fix."""

import asyncio
import errno
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from loadtop.cli.exit_codes import FileError
from loadtop.cli.options import command_line
from loadtop.cli.options.command_line import parse
from loadtop.generator.connection import Connection
from loadtop.generator.connector import Connector
from loadtop.generator.errors import connect_error, status_error
from loadtop.generator.plan import Origin, Plan, PlanError, Step, Target

ORIGIN = Origin("https", "web1", 443)


def _failed(connection: Connection, error: BaseException) -> None:
    raise AssertionError(f"{connection} was not connected: {error}")


def _untrusted(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, message
    return error


def test_only_for_an_unknown_authority_one_can_be_named() -> None:
    unknown = str(connect_error(_untrusted(20, "unable to get local issuer certificate"), ORIGIN))
    assert "SSL_CERT_FILE=FILE" in unknown
    assert "--insecure" in unknown
    expired = str(connect_error(_untrusted(10, "certificate has expired"), ORIGIN))
    assert "SSL_CERT_FILE" not in expired
    assert "--insecure" in expired


@pytest.mark.parametrize(
    ("error", "bind", "said"),
    [
        (ConnectionRefusedError(), None, "connection refused by web1:443: is the server running on web1:443?"),
        (ConnectionResetError(), None, "closes connections immediately: does it speak https?"),
        (BrokenPipeError(), None, "closes connections immediately"),
        (OSError(errno.EADDRNOTAVAIL, "x"), "10.0.0.9", "10.0.0.9 is not an address of this machine"),
        (OSError(errno.EADDRNOTAVAIL, "x"), None, "no local port"),
        (OSError(errno.EMFILE, "x"), None, "raise the limit (ulimit -n) or lower -c"),
        (OSError(errno.ENFILE, "x"), None, "raise the limit (ulimit -n) or lower -c"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), None, "no connection to web1:443 (No route to host)"),
        (ValueError("odd"), None, "no connection to web1:443 (odd)"),
    ],
)
def test_advice_for_a_failing_connection(error: Exception, bind: str | None, said: str) -> None:
    assert said in str(connect_error(error, ORIGIN, bind=bind))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (301, "the server answers 301 to every request: redirects are not followed"),
        (399, "redirects are not followed"),
        (404, "is the path right?"),
        (400, "does it speak https on this port"),
        (418, "the server answers 418 to every request"),
        (299, "the server answers 299 to every request"),
    ],
)
def test_advice_for_a_status(status: int, said: str) -> None:
    assert said in str(status_error(status))
    assert (":" in str(status_error(status))) is (status not in (418, 299))


@pytest.mark.parametrize(
    ("bind", "said"),
    [
        (None, "unknown host two.example (Name or service not known): check the name"),
        ("::1", "two.example has no IPv6 address, which -B ::1 needs. Check the name and -B."),
        ("127.0.0.1", "two.example has no IPv4 address, which -B 127.0.0.1 needs. Check the name and -B."),
    ],
)
async def test_the_host_that_is_not_known_is_named(
    bind: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        if host == "two.example":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    targets = tuple(Target.parse(f"http://{name}.example/") for name in ("one", "two"))
    plan = Plan(targets, (Step(concurrency=1, requests=1),), bind=bind)
    connector = Connector(plan, asyncio.get_running_loop(), _failed)
    with pytest.raises(PlanError) as error:
        await connector.resolve()
    assert str(error.value) == said


def test_a_body_that_fills_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_line, "LARGEST_FILE", 1 << 20)
    body = tmp_path / "body"
    body.write_bytes(bytes(1 << 20))
    assert parse(["-p", str(body), "http://127.0.0.1:1/"]).plan is not None
    with pytest.raises(FileError, match="it is larger than 1 MB"):
        parse(["-p", "/dev/zero", "http://127.0.0.1:1/"])
