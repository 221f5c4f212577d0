"""What the server's workers wait for: databases, other services, and file locks."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.lab.case import Bench, Build, Case, Proof, Stand, judge, marked, over_ssh
from tests.lab.quota import cpu_quota, throttled_periods
from tests.lab.table import Report
from tests.servers.apache import proxying
from tests.servers.mysql import Mysql
from tests.servers.postgresql import Postgresql
from tests.servers.program import Program, server_directory
from tests.servers.redis import Redis
from tests.servers.service import LOCKING, PLACES, UNIX

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]

WORKERS, CLIENTS = 24, 12
MYSQLI = ("mysqlnd", "mysqli")
ROWS = 1000

MYSQL_SHOP = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE hits (id INT PRIMARY KEY, n INT) ENGINE=InnoDB;
INSERT INTO hits SELECT seq, 0 FROM seq_1_to_ROWS;
CREATE USER app@localhost IDENTIFIED BY 'secret';
CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret';
GRANT ALL ON shop.* TO app@localhost;
GRANT ALL ON shop.* TO app@'127.0.0.1';
"""
POSTGRESQL_SHOP = """
CREATE TABLE hits AS SELECT id, 0 AS n FROM generate_series(1, ROWS) AS id;
ALTER TABLE hits ADD PRIMARY KEY (id);
CREATE ROLE app LOGIN PASSWORD 'secret';
GRANT ALL ON hits TO app;
"""
MYSQL_PAGE = """<?php
$db = new mysqli(HOST, "app", "secret", "shop", PORT, SOCKET);
QUERIES
echo "counted";
"""
MYSQL_UPDATE = """
$db->query("START TRANSACTION");
$db->query("UPDATE hits SET n = n + 1 WHERE id = " . random_int(1, ROWS));
$db->query("DO SLEEP(0.02)");
$db->query("COMMIT");
"""
POSTGRESQL_PAGE = """<?php
$db = pg_connect("host=127.0.0.1 port=PORT user=app password=secret dbname=postgres");
pg_query($db, "BEGIN");
pg_query($db, "UPDATE hits SET n = n + 1 WHERE id = " . random_int(1, ROWS));
pg_query($db, "SELECT pg_sleep(0.02)");
pg_query($db, "COMMIT");
echo "counted";
"""
PREPARED = """
for ($number = 0; $number < NUMBER; $number++) {
    $statement = $db->prepare("SELECT n, SLEEP(?) FROM hits WHERE id = 1");
    $seconds = SECONDS;
    $statement->bind_param("d", $seconds);
    $statement->execute();
    $statement->get_result()->fetch_all();
    $statement->close();
    usleep(PAUSE);
}
"""
"""The last message to the database before each pause has no answer."""
COMPUTING = '$db->query("SELECT SUM(SQRT(seq)) FROM seq_1_to_40000");'
REDIS_PAGE = """<?php
$link = fsockopen("127.0.0.1", PORT);
fwrite($link, "PING\\r\\n");
echo fgets($link);
"""
SCRIPTS = """
import socket, sys, time
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
script = "local n = 0; for i = 1, 15000000 do n = n + i end; return n"
while True:
    link.sendall(f'EVAL "{script}" 0\\r\\n'.encode())
    link.recv(100)
    time.sleep(0.002)
"""
"""Each script computes for some hundredths of a second, in which Redis answers nobody else."""
SESSION = "<?php session_save_path(__DIR__); session_id(ID); session_start(); usleep(20000); ?>done"
ASK_UNIX = """<?php
$there = stream_socket_client("unix://PATH");
fwrite($there, "GET / HTTP/1.0\\r\\n\\r\\n");
echo stream_get_contents($there);
"""
TWO_SERVICES = """<?php
file_get_contents("http://127.0.0.1:FIRST/");
echo file_get_contents("http://127.0.0.1:SECOND/");
"""


def row_lock_in_mariadb(through_socket: bool) -> Build:
    """Each request holds one row for 20 ms: the same row, or one of many."""

    def build(bench: Bench, lifted: bool) -> Stand:
        database = shop(bench)
        page = mysql_page(database, MYSQL_UPDATE, ROWS if lifted else 1, through_socket=through_socket)
        server = bench.apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": page}, extensions=MYSQLI)
        service = str(database.unix_socket) if through_socket else database.address
        return Stand(f"{server.url}page.php", sign=lambda: waiting_for_rows(database), service=service)

    return build


def slow_database(bench: Bench, lifted: bool) -> Stand:
    """A database with a third of a core."""
    launcher = [] if lifted else bench.stack.enter_context(cpu_quota(0.3))
    database = shop(bench, launcher)
    page = mysql_page(database, COMPUTING)
    server = bench.apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": page}, extensions=MYSQLI)
    sign = None if lifted else lambda: throttled_periods(launcher)
    return Stand(f"{server.url}page.php", sign=sign, service=database.address)


def busy_redis(bench: Bench, lifted: bool) -> Stand:
    """Another client's scripts keep its one thread busy."""
    redis = bench.redis()
    server = bench.apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": redis_page(redis)})
    if not lifted:
        client = [sys.executable, "-c", SCRIPTS, str(redis.port)]
        bench.stack.enter_context(Program(client, log=redis.directory / "scripts"))
    return Stand(f"{server.url}page.php", service=redis.address)


def redis_page(redis: Redis) -> str:
    return REDIS_PAGE.replace("PORT", str(redis.port))


def shop(bench: Bench, launcher: Sequence[str] = ()) -> Mysql:
    """A MariaDB with a table of hits, for an application that logs in with a password."""
    database = bench.mysql(max_connections=60, launcher=launcher)
    database.run(MYSQL_SHOP.replace("ROWS", str(ROWS)))
    database.directory.chmod(0o755)
    return database


def mysql_page(
    database: Mysql, queries: str, rows: int = ROWS, *, through_socket: bool = False, persistent: bool = False
) -> str:
    host = "p:127.0.0.1" if persistent else "localhost" if through_socket else "127.0.0.1"
    socket = f'"{database.unix_socket}"' if through_socket else "null"
    page = MYSQL_PAGE.replace("HOST", f'"{host}"').replace("PORT", str(database.port)).replace("SOCKET", socket)
    return page.replace("QUERIES", queries).replace("ROWS", str(rows))


def waiting_for_rows(database: Mysql) -> float:
    """Sessions that wait for a row, as the database counts them."""
    return float(database.run("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'").split()[-1])


def postgresql_shop(bench: Bench) -> Postgresql:
    database = bench.postgresql(max_connections=60)
    database.run(POSTGRESQL_SHOP.replace("ROWS", str(ROWS)))
    return database


def postgresql_page(database: Postgresql, rows: int) -> str:
    return POSTGRESQL_PAGE.replace("PORT", str(database.port)).replace("ROWS", str(rows))


def row_lock_in_postgresql(bench: Bench, lifted: bool) -> Stand:
    database = postgresql_shop(bench)
    page = postgresql_page(database, ROWS if lifted else 1)
    server = bench.apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": page}, extensions=("pgsql",))

    def blocked() -> float:
        return float(database.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

    return Stand(f"{server.url}page.php", sign=blocked, service=database.address)


def small_pool_before_slow_queries(bench: Bench, lifted: bool) -> Stand:
    database = shop(bench)
    page = mysql_page(database, '$db->query("DO SLEEP(0.1)");')
    workers = WORKERS if lifted else 4
    server = bench.apache(mpm="prefork", php="mod", workers=workers, pages={"page.php": page}, extensions=MYSQLI)
    return Stand(f"{server.url}page.php")


def small_pool_before_prepared_statements(number: int, seconds: float, pause_s: float) -> Build:
    def build(bench: Bench, lifted: bool) -> Stand:
        database = shop(bench)
        queries = PREPARED.replace("NUMBER", str(number)).replace("SECONDS", str(seconds))
        page = mysql_page(database, queries.replace("PAUSE", f"{1e6 * pause_s:.0f}"), persistent=True)
        workers = WORKERS if lifted else 4
        server = bench.apache(mpm="prefork", php="mod", workers=workers, pages={"page.php": page}, extensions=MYSQLI)
        return Stand(f"{server.url}page.php")

    return build


def idle_connections(bench: Bench, _lifted: bool) -> Stand:
    """Every worker keeps a connection that it used once; few are used at a time."""
    database = shop(bench)
    page = mysql_page(database, '$db->query("DO SLEEP(0.02)"); usleep(20000);', persistent=True)
    server = bench.apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": page}, extensions=MYSQLI)

    def connected() -> float:
        return float(database.run("SHOW GLOBAL STATUS LIKE 'Threads_connected'").split()[-1])

    return Stand(f"{server.url}page.php", sign=connected)


def upstream(proxy: str) -> Build:
    """A service that answers one request after the other, behind a proxy that passes on as many as come."""

    def build(bench: Bench, lifted: bool) -> Stand:
        service = bench.service(PLACES, 64 if lifted else 1)
        if proxy == "apache":
            url = bench.apache(mpm="event", workers=64, extra=proxying(service.url)).url
        elif proxy == "nginx":
            url = bench.nginx(proxy_pass=service.url).url
        else:
            url = bench.haproxy([service.port], as_user=True).url
        return Stand(url, service=f"127.0.0.1:{service.port}")

    return build


def two_services(bench: Bench, lifted: bool) -> Stand:
    """Pages ask one service that answers all at once, and then one that answers one after the other."""
    first, second = bench.service(PLACES, 64), bench.service(PLACES, 64 if lifted else 1)
    page = TWO_SERVICES.replace("FIRST", str(first.port)).replace("SECOND", str(second.port))
    server = bench.apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": page})
    return Stand(f"{server.url}page.php", service=f"127.0.0.1:{second.port}")


def record_lock(bench: Bench, lifted: bool) -> Stand:
    """Sixteen processes that each hold a byte of a file for 20 ms: the same byte, or one of their own."""
    return Stand(bench.service(LOCKING, 16, int(lifted)).url)


def php_session(bench: Bench, lifted: bool) -> Stand:
    """Requests of one session of PHP, whose file is locked for 20 ms each; or each of its own session."""
    page = SESSION.replace("ID", "bin2hex(random_bytes(8))" if lifted else "'one'")
    server = bench.nginx(fastcgi_pass=bench.fpm(max_children=WORKERS), pages={"page.php": page})
    pages = server.directory / "pages"
    pages.chmod(0o777)  # sessions are files beside the page
    return Stand(f"{server.url}page.php", locked=pages / "sess_one")


def behind_a_unix_socket(places: int) -> Build:
    """Pages ask a service at a unix socket, which answers one after the other: it accepts all of them, or with 0 places
    one at a time."""

    def build(bench: Bench, lifted: bool) -> Stand:
        path = str(bench.stack.enter_context(server_directory()) / "app.sock")
        bench.service(UNIX, path, 64 if lifted else places)
        page = ASK_UNIX.replace("PATH", path)
        server = bench.apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": page})
        return Stand(f"{server.url}page.php", service=path)

    return build


def is_free(proof: Proof) -> bool:
    return proof.change.idle > 20


def waits_for_rows(proof: Proof) -> bool:
    return proof.change.idle > 5 and proof.peak - proof.before >= CLIENTS / 2


WAYS: dict[str, Callable[[Build], Build]] = {"": lambda build: build, ", over SSH": over_ssh}

CASES = [
    Case(
        name="a row lock in MariaDB", expected="dependency", build=row_lock_in_mariadb(False), concurrency=CLIENTS,
        proven=waits_for_rows, evidence="dependency.",
    ),
    Case(
        name="a row lock in MariaDB, unix socket", expected="dependency", build=row_lock_in_mariadb(True),
        concurrency=CLIENTS, proven=waits_for_rows, evidence="dependency.",
    ),
    Case(
        name="a row lock in PostgreSQL", expected="dependency", build=row_lock_in_postgresql, concurrency=CLIENTS,
        proven=waits_for_rows, evidence="dependency.",
    ),
    Case(
        name="a row lock in MariaDB, over SSH", expected="dependency", build=over_ssh(row_lock_in_mariadb(False)),
        concurrency=CLIENTS, proven=waits_for_rows, evidence="dependency.",
    ),
    Case(
        name="a row lock in PostgreSQL, over SSH", expected="dependency", build=over_ssh(row_lock_in_postgresql),
        concurrency=CLIENTS, proven=waits_for_rows, evidence="dependency.",
    ),
    Case(
        name="a database with a third of a core", expected="dependency", build=slow_database, concurrency=CLIENTS,
        proven=lambda proof: proof.change.idle > 20 and proof.peak > 20, evidence="dependency.",
    ),
    Case(
        name="a database with a third of a core, over SSH", expected="dependency", build=over_ssh(slow_database),
        concurrency=CLIENTS, proven=lambda proof: proof.change.idle > 20 and proof.peak > 20, evidence="dependency.",
    ),
    Case(
        name="Redis kept busy by a script", expected="dependency", build=busy_redis, concurrency=CLIENTS,
        proven=is_free, evidence="dependency.",
    ),
    Case(
        name="Redis kept busy by a script, over SSH", expected="dependency", build=over_ssh(busy_redis),
        concurrency=CLIENTS, proven=is_free, evidence="dependency.",
    ),
    Case(
        name="4 workers before slow queries", expected="apache-workers", build=small_pool_before_slow_queries,
        concurrency=CLIENTS, proven=is_free, evidence="apache.",
        advice="Raise MaxRequestWorkers from 4 ... for mysql at",
    ),
    *(
        Case(
            name=f"4 workers before {what}", expected="apache-workers",
            build=small_pool_before_prepared_statements(number, seconds, pause_s), concurrency=CLIENTS, proven=is_free,
            evidence="apache.", advice=f"Raise MaxRequestWorkers from 4 ... {why}",
        )
        for what, number, seconds, pause_s, why in (
            ("prepared statements and pauses", 5, 0.0, 0.02, "in pauses of the page"),
            ("prepared statements and long pauses", 1, 0.0, 0.1, "in pauses of the page"),
            ("slow prepared statements and pauses", 1, 0.1, 0.05, "for mysql at"),
        )
    ),
    Case(
        name="idle connections to a database", expected="none", build=idle_connections, concurrency=2, gain=None,
        proven=lambda proof: proof.change.idle > 50 and proof.peak > 2,
    ),
    Case(
        name="idle connections to a database, over SSH", expected="none", build=over_ssh(idle_connections),
        concurrency=2, gain=None, proven=lambda proof: proof.change.idle > 50 and proof.peak > 2,
    ),
    *(
        Case(
            name=f"a serial service behind {proxy}{how}", expected="dependency", build=way(upstream(proxy.lower())),
            concurrency=CLIENTS, proven=is_free, evidence="dependency.",
        )
        for proxy in ("Apache", "nginx", "HAProxy") for how, way in WAYS.items()
    ),
    *(
        Case(
            name=f"a {what} at a unix socket{how}", expected="dependency", build=way(behind_a_unix_socket(places)),
            concurrency=CLIENTS, proven=is_free, evidence="dependency.",
        )
        for what, places in (("serial service", 1), ("service with a queue", 0)) for how, way in WAYS.items()
    ),
    *(
        Case(
            name=f"two services, one serial{how}", expected="dependency", build=way(two_services),
            concurrency=CLIENTS, proven=is_free, evidence="dependency.",
        )
        for how, way in WAYS.items()
    ),
    Case(
        name="a record lock", expected="lock", build=record_lock, concurrency=CLIENTS, proven=is_free,
        evidence="lock.waiting_pct", advice="wait for a file lock",
    ),
    *(
        Case(
            name=f"one PHP session{how}", expected="lock", build=way(php_session), concurrency=CLIENTS, proven=is_free,
            evidence="lock.waiting_pct", advice="session_write_close()",
        )
        for how, way in WAYS.items()
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_names_what_is_waited_for(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
