"""Apache: the option that names its status page. ``kind.py`` declares the rest."""

from loadtop.servers import StatusOption

OPTION = StatusOption(
    "apache", "Apache's status page (mod_status), fetched by its host", "http://HOST/server-status", r"https?://.+"
)
