"""Of a test whose URL, headers, cookies, user, proxy and body carry secrets, none is written or shown."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, count, repeat
from pathlib import Path

import pytest

from loadtop.recording.codec import MAX_BLOCK, MAX_TOTALS, decompress

PARAMETERS = (
    "token", "sessionid", "key", "sig", "code", "jwt", "sid", "PHPSESSID", "access_key", "pw", "bearer", "api_key",
    "password", "client_secret", "X-Amz-Signature", "accessKeyId", "refresh_token", "SAMLResponse",
)  # fmt: skip
HEADERS = (
    "Authorization", "Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-Access-Key", "X-JWT-Assertion", "X-Api-Key",
    "X-Auth-Token", "X-Vault-Token", "Cookie2", "X-Internal-Caller", "X-CSRF-Token", "Cf-Access-Client-Secret",
)  # fmt: skip
COOKIES = ("PHPSESSID", "theme", "remember_me", "connect.sid")


class Target(BaseHTTPRequestHandler):
    """A server, and a proxy that answers itself; its first answer says that it failed."""

    protocol_version = "HTTP/1.1"
    statuses = chain((500,), repeat(200))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(next(self.statuses))
        self.send_header("Content-Length", "2")
        self.send_header("Set-Cookie", f"id={SECRETS[-1]}")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


SECRETS = [f"Hu5h{number:02d}q" for number in range(40)]


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Target)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def loadtop(*words: str, state: Path) -> bytes:
    """All that the program prints."""
    command = [sys.executable, "-m", "loadtop", *words]
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def unpacked(recording: Path) -> bytes:
    """The content of a recording, decompressed."""
    with closing(sqlite3.connect(recording)) as database:
        packed = [
            (data, MAX_BLOCK) for (data,) in database.execute("SELECT data FROM block UNION SELECT data FROM frame")
        ]
        packed += [(data, MAX_TOTALS) for (data,) in database.execute("SELECT data FROM totals")]
    return b"\n".join(decompress(data, most) for data, most in packed)


def test_no_secret_is_written_or_shown(port: int, tmp_path: Path) -> None:
    secret = map(SECRETS.__getitem__, count())
    query = "&".join(f"{name}={next(secret)}" for name in PARAMETERS)
    url = f"http://{next(secret)}:{next(secret)}@127.0.0.1:{port}/page.php?{query}"
    body = tmp_path / "body.json"
    body.write_text(f'{{"password": "{next(secret)}"}}')
    headers = [word for name in HEADERS for word in ("-H", f"{name}: {next(secret)}")]
    cookies = [word for name in COOKIES for word in ("-C", f"{name}={next(secret)}")]
    proxy = ["-X", f"127.0.0.1:{port}", "-P", f"{next(secret)}:{next(secret)}"]
    assert next(secret) == SECRETS[-1]  # in the cookie that the server sets

    out, recording = tmp_path / "out", tmp_path / "out" / "a.loadtop"
    out.mkdir()
    words = [*proxy, *headers, *cookies, "-p", str(body), "-T", "application/json"]
    written = ["--json", str(out / "a.json"), "--html", str(out / "a.html"), "--record", str(recording)]
    written += ["--hdr", str(out / "a.hdr"), "--junit", str(out / "a.xml"), "--fail-if", "failed>99%"]
    shown = [loadtop("-n", "20", "-c", "2", "-v", "4", "-l", *words, *written, url, state=tmp_path / "state")]
    kinds = ("--text", "--ab", "--markdown")
    shown += [loadtop("report", kind, str(recording), state=tmp_path / "state") for kind in kinds]
    exports = ["--csv", str(out / "csv"), "--jsonl", str(out / "a.jsonl"), "--sqlite", str(out / "a.db")]
    shown.append(loadtop("export", str(recording), *exports, "--cast", str(out / "a.cast"), state=tmp_path / "state"))

    files = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert {"a.json", "a.html", "a.loadtop", "a.jsonl", "a.db", "a.cast", "a.hdr", "a.xml", "load.csv"} <= files.keys()
    files |= {"what is printed": b"".join(shown), "the unpacked recording": unpacked(recording)}
    assert b"page.php" in files["the unpacked recording"]
    assert b"Set-Cookie: ***" in files["the unpacked recording"]  # of the failed request, because of -v
    leaks = [(name, each) for name, content in files.items() for each in SECRETS if each.encode() in content]
    assert leaks == []
