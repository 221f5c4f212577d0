"""The kinds of servers that loadtop knows: one package each, registered in :mod:`loadtop.servers.registry`."""

from dataclasses import dataclass

ADDRESS = r"(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}|(?:unix:)?/(?!/).+"
"""Where a database listens, as its option takes it."""

ADDRESS_FORMS = "HOST:PORT or the path of its socket"


@dataclass(frozen=True, slots=True)
class StatusOption:
    """``--NAME [HOST:]URL``, by the name of the kind. ``forms`` shows URLs that match ``pattern``. ``metavar`` is the
    word for them in ``--help``.

    A kind declares its own beside its name, so that ``--help`` loads no kind."""

    name: str
    help: str
    forms: str
    pattern: str
    metavar: str = "URL"
