"""The options that name status pages, one for each kind of server: apart from the kinds, so that ``--help`` does not
load their verdicts and reports."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatusOption:
    """``--NAME [HOST:]URL``, by the name of the kind. ``forms`` shows URLs that match ``pattern``."""

    name: str
    help: str
    forms: str
    pattern: str


STATUS_OPTIONS = (
    StatusOption("apache", "mod_status page, fetched from its host", "http://HOST/server-status", r"https?://.+"),
    StatusOption("nginx", "stub_status page of nginx", "http://HOST:PORT/nginx_status", r"https?://.+"),
    StatusOption(
        "fpm",
        "status page of a php-fpm pool",
        "http://HOST/status, fcgi://HOST:PORT/status or unix:/run/php/fpm.sock;/status",
        r"https?://.+|(?:fcgi|tcp)://[^/]+:\d+(?:/.*)?|(?:unix|fcgi):(?://)?/(?!/).+",
    ),
    StatusOption(
        "haproxy",
        "statistics page or stats socket of HAProxy",
        "http://HOST:PORT/stats or unix:/run/haproxy/admin.sock",
        r"https?://.+|tcp://[^/]+:\d+/?|(?:unix:(?://)?)?/(?!/).+",
    ),
)
