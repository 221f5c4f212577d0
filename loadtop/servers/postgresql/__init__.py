"""PostgreSQL: the option that names its address. ``kind.py`` declares the rest."""

from loadtop.servers import ADDRESS, ADDRESS_FORMS, StatusOption

OPTION = StatusOption("postgresql", "PostgreSQL server", ADDRESS_FORMS, ADDRESS, "ADDRESS")
