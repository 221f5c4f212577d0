"""HAProxy: the option that names its status page. ``kind.py`` declares the rest."""

from loadtop.servers import StatusOption

OPTION = StatusOption(
    "haproxy",
    "statistics page or stats socket of HAProxy",
    "http://HOST:PORT/stats or unix:/run/haproxy/admin.sock",
    r"https?://.+|tcp://[^/]+:\d+/?|(?:unix:(?://)?)?/(?!/).+",
)
