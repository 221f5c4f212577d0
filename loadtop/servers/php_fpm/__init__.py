"""php-fpm: the option that names its status page. ``kind.py`` declares the rest."""

from loadtop.servers import StatusOption

OPTION = StatusOption(
    "fpm",
    "status page of a php-fpm pool",
    "http://HOST/status, fcgi://HOST:PORT/status or unix:/run/php/fpm.sock;/status",
    r"https?://.+|(?:fcgi|tcp)://[^/]+:\d+(?:/.*)?|(?:unix|fcgi):(?://)?/(?!/).+",
)
