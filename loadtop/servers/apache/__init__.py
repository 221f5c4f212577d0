"""Apache: the option that names its status page. ``kind.py`` declares the rest."""

from loadtop.servers import StatusOption

OPTION = StatusOption(
    "apache",
    "Apache's status page (mod_status), requested on the watched host itself",
    "http://HOST/server-status",
    r"https?://.+",
)
