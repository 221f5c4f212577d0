#!/usr/bin/env python3
"""Real servers for the experiments in this directory.

They use private configurations in their own temporary directory and fixed loopback ports, and change nothing in the
system's configuration. ``servers.py stop`` stops the servers and removes the directory.

The script needs only Python and the servers. The plans run it in their ``apply`` and ``finish`` commands.
"""

import argparse
import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(tempfile.gettempdir()) / "loadtop-experiments"
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin", "/sbin"])
MODULES = (
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/opt/homebrew/opt/httpd/lib/httpd/modules",
)
BASE = ("unixd", "authz_core", "authz_host", "dir", "mime", "env", "status")
CGROUPS = Path("/sys/fs/cgroup")
CGROUP = "loadtop-experiments"

PAGES = {
    # Computes for 1.4 ms and sleeps for 1 ms, so one worker does not fill a CPU.
    "simple.php": """<?php usleep(1000);
for ($until = hrtime(true) + 1.4e6; hrtime(true) < $until;) { sqrt(2); }
echo 'x';""",
    # Uses 12 MB for about 0.1 s and touches it three times, so many workers cause swapping.
    "memory.php": """<?php ini_set('memory_limit', '-1'); $size = 12 << 20; $text = str_repeat('x', $size);
for ($pass = 0; $pass < 3; $pass++) {
    usleep(30000);
    for ($at = $pass; $at < $size; $at += 4096) { $text[$at] = 'y'; }
}
echo strlen($text);""",
    "sleep.php": "<?php sleep(1); echo 'slept';",
    # An application with 24 slots. If all are in use, it returns 503, like a full session pool.
    "places.php": """<?php
for ($place = 0; $place < 24; $place++) {
    $lock = fopen(sys_get_temp_dir() . "/loadtop-place-$place", 'c');
    if (flock($lock, LOCK_EX | LOCK_NB)) {
        usleep(20000);
        $until = hrtime(true) + 5e6;
        while (hrtime(true) < $until) { sqrt(2); }
        echo str_repeat('dynamic page ', 380);
        exit;
    }
    fclose($lock);
}
http_response_code(503);
echo 'no slot is free';""",
    "static.html": "static page\n" * 285,
    "1k": "x" * 1_000,
    "10k": "x" * 10_000,
    "100k": "x" * 100_000,
}

WORDPRESS = Path("/usr/share/wordpress")
CONTENT = Path("/var/lib/wordpress/wp-content")
POSTS = 30

CONFIGURATION = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', '{password}');
define('DB_HOST', '127.0.0.1:{port}');
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', WP_HOME);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {{ define('ABSPATH', __DIR__ . '/'); }}
require_once ABSPATH . 'wp-settings.php';
"""
INSTALLATION = """
$_SERVER['HTTP_HOST'] = '127.0.0.1';
define('WP_INSTALLING', true);
function wp_new_blog_notification() {}
require 'wp-load.php';
require 'wp-admin/includes/upgrade.php';
wp_install('Field report', 'admin', 'admin@example.com', true, '', wp_generate_password());
for ($number = 1; $number <= POSTS; $number++) {
    $text = str_repeat("<p>This is a paragraph of post $number.</p>\n", 12);
    wp_insert_post(['post_title' => "Post $number", 'post_content' => $text, 'post_status' => 'publish']);
}
"""
PLUGINS = {
    "none": "",
    # Waits 0.3 s in the database for each page, like a plugin that calls an external service. The CPU is idle then.
    "slow-query": "<?php add_action('wp', function () { global $wpdb; $wpdb->query('DO SLEEP(0.3)'); });",
    # Counts visits in one row, in a transaction that lasts until the page is complete.
    "counter": """<?php
add_action('wp', function () {
    global $wpdb;
    $wpdb->query('CREATE TABLE IF NOT EXISTS hits (id INT PRIMARY KEY, n BIGINT)');
    $wpdb->query('INSERT IGNORE INTO hits VALUES (1, 0)');
    $wpdb->query('START TRANSACTION');
    $wpdb->query('UPDATE hits SET n = n + 1 WHERE id = 1');
});
add_action('shutdown', function () { global $wpdb; $wpdb->query('DO SLEEP(0.05)'); $wpdb->query('COMMIT'); });
""",
    # Counts in the same way, but commits at once.
    "short-counter": """<?php
add_action('wp', function () { global $wpdb; $wpdb->query('UPDATE hits SET n = n + 1 WHERE id = 1'); });
add_action('shutdown', function () { global $wpdb; $wpdb->query('DO SLEEP(0.05)'); });
""",
}
"""WordPress plugins: file contents for the directory mu-plugins."""


def find(*names: str) -> str:
    """Return the path of the first of these programs that is installed."""
    for name in names:
        found = shutil.which(name, path=PATH)
        if found:
            return found
    sys.exit(f"{' or '.join(names)} is not installed: see scripts/install-servers.sh")


def directory(port: int) -> Path:
    """Return the directory of the server on this port; create it if it is missing."""
    made = HERE / str(port)
    made.mkdir(parents=True, exist_ok=True)
    for folder in (HERE, made):
        folder.chmod(0o755)
    return made


def owner() -> pwd.struct_passwd | None:
    """Return the user that servers run as when root starts them."""
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return (
        next((known[name] for name in ("www-data", "apache", "nobody") if name in known), None)
        if not os.geteuid()
        else None
    )


def run(command: list[str], **more: object) -> None:
    """Run a program that daemonizes. If it fails, exit with its output."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, **more)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")


def load(*names: str) -> str:
    modules = next((Path(name) for name in MODULES if Path(name).is_dir()), None)
    if modules is None:
        sys.exit("Apache's modules are not found: see scripts/install-servers.sh")
    return "\n".join(
        f"<IfModule !{name}_module>\nLoadModule {name}_module {modules}/mod_{name}.so\n</IfModule>" for name in names
    )


def apache(options: argparse.Namespace) -> None:
    """Start Apache with a fixed number of workers, all running before the first request."""
    here, user = directory(options.port), owner()
    pages = options.pages or here / "pages"
    if not options.pages:
        pages.mkdir(exist_ok=True)
        for name, text in PAGES.items():
            (pages / name).write_text(text)
    workers, threads = options.workers, options.threads
    processes = 1 if options.mpm == "prefork" else workers // threads
    slots = (
        f"ServerLimit {workers}\nStartServers {workers}\nMinSpareServers {workers}\nMaxSpareServers {workers + 1}"
        if options.mpm == "prefork"
        else f"ServerLimit {processes}\nThreadLimit {threads}\nThreadsPerChild {threads}\nStartServers {processes}\n"
        f"MinSpareThreads {workers}\nMaxSpareThreads {workers + threads}"
    )
    php = ""
    if options.fpm:
        handler = f"proxy:fcgi://127.0.0.1:{options.fpm}"
        php = f'{load("proxy", "proxy_fcgi")}\n<FilesMatch "\\.php$">\nSetHandler "{handler}"\n</FilesMatch>'
        php += f'\n<Location /fpm-status>\nSetHandler "{handler}"\nRequire local\n</Location>'
    elif options.mpm == "prefork":
        found = sorted(path for name in MODULES for path in Path(name).glob("libphp*.so"))
        if not found:
            sys.exit("mod_php is not installed: see scripts/install-servers.sh")
        php = f"LoadModule php_module {found[-1]}\nAddHandler application/x-httpd-php .php"
    (here / "httpd.conf").write_text(f"""
DefaultRuntimeDir {here}
PidFile {here}/pid
ServerName 127.0.0.1
Listen 127.0.0.1:{options.port}
ListenBackLog 511
{load(f"mpm_{options.mpm}", *BASE)}
{f"User {user.pw_name}{chr(10)}Group #{user.pw_gid}" if user else ""}
ErrorLog {here}/error.log
TypesConfig /dev/null
{slots}
MaxRequestWorkers {workers}
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot {pages}
DirectoryIndex index.php index.html
<Directory />
    Require all denied
</Directory>
<Directory {pages}>
    Require all granted
</Directory>
{php}
ExtendedStatus On
<Location /server-status>
    SetHandler server-status
    Require local
</Location>
""")
    before = ["taskset", "-c", options.cpus] if options.cpus else []
    if options.memory:
        before = [*before, "sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(memory(options.memory))]
    command = [*before, find("apache2", "httpd"), "-d", str(here), "-f", str(here / "httpd.conf"), "-k", "start"]
    run(command, env=environment(here, options.pages))


def environment(here: Path, pages: Path | None) -> dict[str, str]:
    """Return an environment in which PHP loads no settings or extensions, or the system's if ``pages`` is given."""
    empty = here / "php"
    empty.mkdir(exist_ok=True)
    return dict(os.environ) if pages else {**os.environ, "PHP_INI_SCAN_DIR": str(empty), "PHPRC": str(empty)}


def fpm(options: argparse.Namespace) -> None:
    """Start php-fpm with one pool."""
    here, user = directory(options.port), owner()
    spare = ""
    if options.manager == "dynamic":
        spare = "pm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3"
    (here / "fpm.conf").write_text(f"""[global]
error_log = {here}/fpm.log
pid = {here}/pid
daemonize = yes
[www]
{f"user = {user.pw_name}" if user else ""}
listen = 127.0.0.1:{options.port}
pm = {options.manager}
pm.max_children = {options.children}
{spare}
pm.status_path = /fpm-status
""")
    versions = sorted(Path(found).name for folder in PATH.split(":") for found in Path(folder).glob("php-fpm[0-9]*"))
    command = [find("php-fpm", *reversed(versions)), "--fpm-config", str(here / "fpm.conf")]
    run(command, env=environment(here, options.pages))


def nginx(options: argparse.Namespace) -> None:
    """Start nginx in front of php-fpm."""
    here, user = directory(options.port), owner()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"    {kind}_temp_path {here}/{kind};" for kind in kinds)
    (here / "nginx.conf").write_text(f"""
pid {here}/pid;
error_log {here}/error.log;
{f"user {user.pw_name};" if user else ""}
worker_processes auto;
events {{ worker_connections 768; }}
http {{
{paths}
    access_log off;
    default_type text/html;
    server {{
        listen 127.0.0.1:{options.port};
        root {options.pages};
        index index.php;
        location = /nginx_status {{ stub_status; }}
        location / {{ try_files $uri $uri/ /index.php?$args; }}
        location ~ \\.php$ {{
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_pass 127.0.0.1:{options.fpm};
        }}
    }}
}}
""")
    run([find("nginx"), "-c", str(here / "nginx.conf")])


def mariadb(options: argparse.Namespace) -> None:
    """Start MariaDB with default settings and its own data directory, which contains only a database for WordPress."""
    here = directory(options.port)
    user = []
    if not os.geteuid():
        shutil.chown(here, "mysql")
        user = ["--user=mysql"]
    data, socket, password = here / "data", here / "mysql.sock", secrets.token_hex(8)
    install = [find("mariadb-install-db"), "--no-defaults", f"--datadir={data}", *user]
    run([*install, "--auth-root-authentication-method=socket", "--skip-test-db"])
    server = [find("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={socket}", f"--pid-file={here}/pid"]
    server += [f"--port={options.port}", "--bind-address=127.0.0.1", f"--log-error={here}/error.log", *user]
    subprocess.Popen(server, stdin=subprocess.DEVNULL, start_new_session=True)
    for _ in range(200):
        if socket.exists():
            break
        time.sleep(0.1)
    account = f"wordpress@'127.0.0.1' IDENTIFIED BY '{password}'"
    statements = f"CREATE DATABASE wordpress; GRANT ALL ON wordpress.* TO {account}"
    run([find("mariadb"), "--no-defaults", f"--socket={socket}", "--execute", statements])
    (here / "password").write_text(password)


def wordpress(options: argparse.Namespace) -> None:
    """Install Debian's WordPress in its own directory, without a network, with one plugin or none."""
    pages = HERE / "wordpress"
    if not pages.exists():
        if not WORDPRESS.exists():
            sys.exit("WordPress is not installed: apt-get install wordpress wordpress-theme-twentytwentythree")
        shutil.copytree(WORDPRESS, pages, ignore=shutil.ignore_patterns("wp-content", "wp-config.php"))
        shutil.copytree(CONTENT, pages / "wp-content")
        password = (HERE / str(options.database) / "password").read_text()
        (pages / "wp-config.php").write_text(CONFIGURATION.format(password=password, port=options.database))
        run([find("php"), "-r", INSTALLATION.replace("POSTS", str(POSTS))], cwd=pages)
    plugin = pages / "wp-content" / "mu-plugins" / "plugin.php"
    plugin.parent.mkdir(exist_ok=True)
    plugin.write_text(PLUGINS[options.plugin])


def haproxy(options: argparse.Namespace) -> None:
    """Start HAProxy with round-robin balancing over these ports."""
    here = directory(options.port)
    servers = "\n".join(f"    server server{n} 127.0.0.1:{port} check" for n, port in enumerate(options.to, 1))
    (here / "haproxy.cfg").write_text(f"""
global
    daemon
    pidfile {here}/pid
    stats socket {here}/stats.sock mode 600 level admin
defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
frontend myfrontend
    bind 127.0.0.1:{options.port}
    default_backend myservers
backend myservers
    balance roundrobin
{servers}
frontend stats
    bind 127.0.0.1:{options.port + 1}
    stats enable
    stats uri /stats
""")
    run([find("haproxy"), "-D", "-f", str(here / "haproxy.cfg")])


def memory(megabytes: int) -> Path:
    """Create a control group with this memory limit, and add 512 MB of swap to the system."""
    first = (CGROUPS / "memory" / "memory.limit_in_bytes").exists()
    group = (CGROUPS / "memory" if first else CGROUPS) / CGROUP
    try:
        if not first:
            (CGROUPS / "cgroup.subtree_control").write_text("+memory")
        group.mkdir(exist_ok=True)
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(megabytes << 20))
    except OSError as error:
        sys.exit(f"cannot create a memory control group (needs root): {error}")
    if not (HERE / "swap.device").exists():
        file = Path("/var/tmp") / "loadtop-experiments.swap"  # noqa: S108 - a name of its own, for root
        with file.open("wb") as opened:
            os.posix_fallocate(opened.fileno(), 0, 512 << 20)
        file.chmod(0o600)
        done = subprocess.run(["losetup", "--find", "--show", str(file)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"losetup: {done.stderr}")
        device = done.stdout.strip()
        (HERE / "swap.device").write_text(device)
        run(["mkswap", device])
        run(["swapon", device])
    return group


def stop(options: argparse.Namespace) -> None:
    """Stop the servers on these ports. Without ports, stop all and remove their files, swap and control group."""
    for pid_file in [HERE / str(port) / "pid" for port in options.ports] or HERE.glob("*/pid"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(pid_file.read_text().split()[0])
            os.kill(pid, signal.SIGTERM)
            for _ in range(100):
                os.kill(pid, 0)
                time.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
    if options.ports:
        return
    device = HERE / "swap.device"
    if device.exists():
        subprocess.run(["swapoff", device.read_text()], check=False)
        subprocess.run(["losetup", "--detach", device.read_text()], check=False)
        Path("/var/tmp/loadtop-experiments.swap").unlink(missing_ok=True)  # noqa: S108 - as above
    for parent in (CGROUPS / "memory", CGROUPS):
        for _ in range(50):
            with contextlib.suppress(FileNotFoundError):
                try:
                    (parent / CGROUP).rmdir()
                except OSError as error:
                    if isinstance(error, FileNotFoundError):
                        raise
                    time.sleep(0.05)
                    continue
            break
    shutil.rmtree(HERE, ignore_errors=True)


def main() -> None:
    """Parse the command line, then start or stop servers."""
    parser = argparse.ArgumentParser(description="Servers for the experiments.")
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("apache")
    verb.set_defaults(run=apache)
    verb.add_argument("--port", type=int, default=18080)
    verb.add_argument("--mpm", choices=("prefork", "event", "worker"), default="prefork")
    verb.add_argument("--workers", type=int, default=20)
    verb.add_argument("--threads", type=int, default=25)
    verb.add_argument("--fpm", type=int, help="port of the php-fpm that runs PHP (default: mod_php with prefork)")
    verb.add_argument("--cpus", help="CPUs to use, in the syntax of taskset -c")
    verb.add_argument("--memory", type=int, help="memory limit in MB; beyond it, the server swaps")
    verb.add_argument("--pages", type=Path, help="the document root of an application")
    verb = verbs.add_parser("fpm")
    verb.set_defaults(run=fpm)
    verb.add_argument("--port", type=int, default=18090)
    verb.add_argument("--manager", choices=("static", "dynamic"), default="static")
    verb.add_argument("--children", type=int, default=5)
    verb.add_argument("--pages", type=Path, help="the document root of an application")
    verb = verbs.add_parser("nginx")
    verb.set_defaults(run=nginx)
    verb.add_argument("--port", type=int, default=18060)
    verb.add_argument("--fpm", type=int, required=True, help="port of the php-fpm that runs PHP")
    verb.add_argument("--pages", type=Path, required=True, help="the document root of an application")
    verb = verbs.add_parser("mariadb")
    verb.set_defaults(run=mariadb)
    verb.add_argument("--port", type=int, default=18036)
    verb = verbs.add_parser("wordpress")
    verb.set_defaults(run=wordpress)
    verb.add_argument("--database", type=int, default=18036, help="port of its MariaDB")
    verb.add_argument("--plugin", choices=PLUGINS, default="none")
    verb = verbs.add_parser("haproxy")
    verb.set_defaults(run=haproxy)
    verb.add_argument("--port", type=int, default=18070)
    verb.add_argument("--to", type=int, nargs="+", required=True)
    verb = verbs.add_parser("stop")
    verb.set_defaults(run=stop)
    verb.add_argument("ports", type=int, nargs="*")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
