"""Load options that decide how a request reaches the server: TLS, proxies, local address, buffers."""

import asyncio
import base64
import hashlib
import ssl
import subprocess
from pathlib import Path

import pytest

from loadtop.generator.plan import Origin, PlanError, Proxy, TlsOptions
from loadtop.generator.tls import key_bits, tls_context
from loadtop.model import LoadState
from tests.loads.running import plan, run_load
from tests.loads.scripted import OK, read_request, scripted
from tests.servers.apache import ApacheFactory
from tests.servers.haproxy import HaproxyFactory
from tests.servers.program import find_program

BOTH = pytest.mark.parametrize("keepalive", [True, False])
FORWARD = """
LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule proxy_connect_module {modules}/mod_proxy_connect.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authn_file_module {modules}/mod_authn_file.so
LoadModule auth_basic_module {modules}/mod_auth_basic.so
LoadModule authz_user_module {modules}/mod_authz_user.so
ProxyRequests On
AllowCONNECT 1-65535
<Proxy "*">
    {access}
</Proxy>
"""
PASSWORDS = """
    AuthType Basic
    AuthName proxy
    AuthUserFile {file}
    Require valid-user
"""


def certify(directory: Path, *options: str) -> Path:
    """A self-signed certificate for 127.0.0.1 and localhost, with its key in the same PEM file."""
    certificate = directory / "server.pem"
    openssl = find_program("openssl", install="apt-get install openssl")
    subprocess.run(
        [openssl, "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost", *options,
         "-addext", "subjectAltName=DNS:localhost,DNS:web1.example,IP:127.0.0.1",
         "-keyout", str(certificate), "-out", str(directory / "only.crt")],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with certificate.open("a") as file:
        file.write((directory / "only.crt").read_text())
    return certificate


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with an RSA key of 2048 bits, which takes a while to find."""
    return certify(tmp_path_factory.mktemp("certificate"), "-newkey", "rsa:2048")


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def modules() -> str:
    from loadtop.cli.demo.apache import find_apache

    installation = find_apache()
    assert installation is not None
    return str(installation.modules)


@pytest.mark.servers
@BOTH
async def test_a_plain_proxy(apache: ApacheFactory, modules: str, keepalive: bool) -> None:
    target = apache(pages={"a.html": "x" * 100})
    proxy = apache(extra=FORWARD.format(modules=modules, access="Require all granted"))
    through = Proxy(Origin("http", "127.0.0.1", proxy.port))
    run = await run_load(plan(target.url + "a.html", requests=40, keepalive=keepalive, proxy=through))
    assert run.last.failed == run.last.non_2xx == 0
    assert len(target.requests()) == len(proxy.requests()) == 40
    assert all(entry.line.startswith(f"GET {target.url}a.html ") for entry in proxy.logged())
    assert run.last.body_bytes == 4000


@pytest.mark.servers
@BOTH
async def test_a_tunnel_through_a_proxy(apache: ApacheFactory, modules: str, keepalive: bool) -> None:
    target = apache(tls=True, pages={"a.html": "x" * 100})
    proxy = apache(extra=FORWARD.format(modules=modules, access="Require all granted"))
    what = plan(
        target.url + "a.html",
        requests=40,
        keepalive=keepalive,
        proxy=Proxy(Origin("http", "127.0.0.1", proxy.port)),
        verify_tls=False,
    )
    run = await run_load(what)
    assert run.last.failed == run.last.non_2xx == 0
    assert len(target.requests()) == 40
    assert all(line.split('"')[1].startswith(f"CONNECT 127.0.0.1:{target.port} ") for line in proxy.requests())


@pytest.mark.servers
@pytest.mark.parametrize("tls", [False, True])
async def test_a_proxy_with_a_password(apache: ApacheFactory, modules: str, tls: bool) -> None:
    target = apache(tls=tls)
    # Its own document root is a place that Apache can read for sure.
    passwords = target.documents / "passwords"
    digest = hashlib.sha1(b"pw", usedforsecurity=False).digest()
    passwords.write_text("me:{SHA}" + base64.b64encode(digest).decode() + "\n")
    proxy = apache(extra=FORWARD.format(modules=modules, access=PASSWORDS.format(file=passwords)))
    right = Proxy(Origin("http", "127.0.0.1", proxy.port), "Basic " + base64.b64encode(b"me:pw").decode())
    run = await run_load(plan(target.url, requests=10, verify_tls=False, proxy=right))
    assert run.last.failed == run.last.non_2xx == 0
    unauthorized = Proxy(Origin("http", "127.0.0.1", proxy.port))
    wrong = await run_load(plan(target.url, requests=10, verify_tls=False, proxy=unauthorized))
    assert "407" in str(wrong.last.message)
    assert "-P" in str(wrong.last.message)
    assert len(target.requests()) == 10


async def test_a_proxy_that_is_not_there() -> None:
    run = await run_load(plan("http://web1/", requests=10, proxy=Proxy(Origin("http", "127.0.0.1", 1))))
    assert run.last.state is LoadState.FAILED
    assert "connection refused by 127.0.0.1:1" in str(run.last.message)


@pytest.mark.servers
@BOTH
async def test_through_haproxy(apache: ApacheFactory, haproxy: HaproxyFactory, keepalive: bool) -> None:
    target = apache(pages={"a.html": "x" * 2000})
    before = haproxy([target.port])
    run = await run_load(plan(before.url + "a.html", requests=400, keepalive=keepalive))
    assert run.last.failed == run.last.non_2xx == 0
    assert len(target.requests()) == 400


@BOTH
async def test_a_local_address(keepalive: bool) -> None:
    peers: set[str] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.add(writer.get_extra_info("peername")[0])
        while (await read_request(reader))[0]:
            writer.write(OK)

    async with scripted(handler=handle) as server:
        run = await run_load(plan(server.url, requests=20, keepalive=keepalive, bind="127.0.0.7"))
    assert run.last.requests == 20
    assert peers == {"127.0.0.7"}


@BOTH
async def test_an_address_of_another_machine(keepalive: bool) -> None:
    async with scripted() as server:
        run = await run_load(plan(server.url, requests=20, keepalive=keepalive, bind="192.0.2.1"))
    assert run.last.state is LoadState.FAILED
    assert "192.0.2.1 is not an address of this machine" in str(run.last.message)


@BOTH
async def test_socket_buffers(keepalive: bool) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + b"y" * 300_000
    async with scripted(answer) as server:
        what = plan(server.url, requests=8, keepalive=keepalive, socket_buffer=4096, method="POST", body=b"x" * 300_000)
        run = await run_load(what)
    assert run.last.failed == 0
    assert run.last.body_bytes == 2_400_000


@pytest.mark.parametrize(
    ("protocol", "agreed"), [("TLS1.2", "TLSv1.2"), ("TLS1.3", "TLSv1.3"), ("ALL", "TLSv1.3"), (None, "TLSv1.3")]
)
async def test_the_protocol_can_be_chosen(certificate: Path, protocol: str | None, agreed: str) -> None:
    async with scripted(tls=serving(certificate)) as server:
        run = await run_load(plan(server.url, requests=8, verify_tls=False, tls=TlsOptions(protocol=protocol)))
    assert run.last.failed == 0
    assert run.last.server is not None
    version, cipher, key, bits = run.last.server.tls.split(",")
    assert (version, key) == (agreed, "2048")
    assert cipher
    assert int(bits) >= 128


async def test_the_cipher_can_be_chosen(certificate: Path) -> None:
    async with scripted(tls=serving(certificate)) as server:
        options = TlsOptions(protocol="TLS1.2", ciphers="ECDHE-RSA-AES128-GCM-SHA256")
        run = await run_load(plan(server.url, requests=8, verify_tls=False, tls=options))
    assert run.last.server is not None
    assert run.last.server.tls == "TLSv1.2,ECDHE-RSA-AES128-GCM-SHA256,2048,128"


async def test_a_client_certificate(certificate: Path) -> None:
    context = serving(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificate.with_name("only.crt"))
    async with scripted(tls=context) as server:
        options = TlsOptions(certificate=str(certificate))
        run = await run_load(plan(server.url, requests=8, verify_tls=False, tls=options))
        without = await run_load(plan(server.url, requests=8, verify_tls=False))
    assert run.last.requests == 8
    assert run.last.failed == 0
    assert without.requests - without.failures.total == 0


async def test_the_server_name_is_sent_unless_it_must_not(certificate: Path) -> None:
    names: list[str | None] = []
    context = serving(certificate)

    def note(tls: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        assert tls is not None
        names.append(name)

    context.sni_callback = note
    async with scripted(tls=context) as server:
        url = f"https://localhost:{server.port}/"
        named = await run_load(plan(url, requests=2, concurrency=1, verify_tls=False))
        await run_load(plan(url, requests=2, concurrency=1, verify_tls=False, tls=TlsOptions(sni=False)))
        hosted = plan(server.url, requests=2, concurrency=1, verify_tls=False, headers=(("Host", "web1.example:8443"),))
        await run_load(hosted)
        address = await run_load(plan(server.url, requests=2, concurrency=1, verify_tls=False))
    assert names == ["localhost", "localhost", None, None, "web1.example", "web1.example", None, None]
    assert named.last.server is not None
    assert named.last.server.tls_name == "localhost"
    assert address.last.server is not None
    assert address.last.server.tls_name == ""


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        (TlsOptions(protocol="SSL3"), "TLS1.2"),
        (TlsOptions(ciphers="nonsense"), "openssl ciphers"),
        (TlsOptions(ciphers="TLS_AES_128_GCM_SHA256"), "Leave -Z out"),
        (TlsOptions(certificate="/nonexistent.pem"), "PEM file"),
    ],
)
async def test_a_tls_option_that_cannot_be_had_is_reported_before_anything_is_sent(
    options: TlsOptions, fix: str
) -> None:
    what = plan("https://127.0.0.1:1/", requests=1, concurrency=1, tls=options)
    with pytest.raises(PlanError, match=fix):
        tls_context(what)
    run = await run_load(what)
    assert run.last.state is LoadState.FAILED
    assert fix in str(run.last.message)
    assert run.last.requests == 0


def test_a_key_with_a_password_does_not_prompt(tmp_path: Path) -> None:
    certificate, key = certify(tmp_path, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), tmp_path / "key"
    openssl = find_program("openssl", install="apt-get install openssl")
    locked = [openssl, "pkey", "-in", str(certificate), "-aes256", "-passout", "pass:hidden", "-out", str(key)]
    subprocess.run(locked, check=True, capture_output=True)
    certificate.write_text(key.read_text() + (tmp_path / "only.crt").read_text())
    with pytest.raises(PlanError, match=r"Write the key without it"):
        tls_context(
            plan("https://127.0.0.1:1/", requests=1, concurrency=1, tls=TlsOptions(certificate=str(certificate)))
        )


@pytest.mark.parametrize(
    ("options", "bits"),
    [
        (("-newkey", "rsa:2048"), 2048),
        (("-newkey", "rsa:3072"), 3072),
        (("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), 256),
        (("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"), 384),
        (("-newkey", "ed25519"), 256),
    ],
)
def test_the_length_of_a_public_key(tmp_path: Path, options: tuple[str, ...], bits: int) -> None:
    certify(tmp_path, *options)
    assert key_bits(ssl.PEM_cert_to_DER_cert((tmp_path / "only.crt").read_text())) == bits


def test_an_address_must_be_one() -> None:
    with pytest.raises(PlanError, match="-B must be an address"):
        plan("http://web1/", requests=1, bind="eth0")
