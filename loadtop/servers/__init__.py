"""The kinds of servers that loadtop knows: one package each, registered in :mod:`loadtop.servers.registry`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatusOption:
    """``--NAME [HOST:]URL``, by the name of the kind. ``forms`` shows URLs that match ``pattern``.

    A kind declares its own beside its name, so that ``--help`` loads no kind."""

    name: str
    help: str
    forms: str
    pattern: str
