"""Apache: the option that names its status page. ``kind.py`` declares the rest."""

from loadtop.servers import StatusOption

OPTION = StatusOption("apache", "mod_status page, fetched from its host", "http://HOST/server-status", r"https?://.+")
