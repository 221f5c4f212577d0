"""uWSGI: the option that names its stats server. ``kind.py`` declares the rest."""

from loadtop.servers import ADDRESS, ADDRESS_FORMS, StatusOption

OPTION = StatusOption("uwsgi", "stats server of uWSGI", ADDRESS_FORMS, ADDRESS, "ADDRESS")
