"""The option of every kind of server, in the order of the registry: apart from it, so that ``--help`` loads no kind."""

from msgspec import Struct


class StatusOption(Struct, frozen=True):
    """``--NAME [HOST:]URL``, by the name of the kind. ``forms`` shows URLs that match ``pattern``. ``metavar`` is the
    word for them in ``--help``."""

    name: str
    help: str
    forms: str
    pattern: str
    metavar: str = "URL"


def _address(name: str, what: str) -> StatusOption:
    """The option of a server that has an address in place of a page."""
    pattern = r"(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}|(?:unix:)?/(?!/).+"
    return StatusOption(name, what, "HOST:PORT or the path of its socket", pattern, "ADDRESS")


STATUS_OPTIONS = (
    StatusOption(
        "apache",
        "Apache's status page (mod_status)",
        "http://HOST/server-status",
        r"https?://.+",
    ),
    StatusOption("nginx", "stub_status page of nginx", "http://HOST:PORT/nginx_status", r"https?://.+"),
    StatusOption(
        "fpm",
        "status page of a php-fpm pool",
        "http://HOST/status, fcgi://HOST:PORT/status or unix:/run/php/fpm.sock;/status",
        r"https?://.+|(?:fcgi|tcp)://[^/]+:\d+(?:/.*)?|(?:unix|fcgi):(?://)?/(?!/).+",
    ),
    _address("uwsgi", "stats server of uWSGI"),
    StatusOption(
        "haproxy",
        "statistics page or stats socket of HAProxy",
        "http://HOST:PORT/stats or unix:/run/haproxy/admin.sock",
        r"https?://.+|tcp://[^/]+:\d+/?|(?:unix:(?://)?)?/(?!/).+",
    ),
    _address("redis", "Redis server"),
    _address("mysql", "MySQL or MariaDB server"),
    _address("postgresql", "PostgreSQL server"),
)
