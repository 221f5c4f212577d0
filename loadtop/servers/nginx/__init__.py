"""nginx: the option that names its status page. ``kind.py`` declares the rest."""

from loadtop.servers import StatusOption

OPTION = StatusOption("nginx", "stub_status page of nginx", "http://HOST:PORT/nginx_status", r"https?://.+")
