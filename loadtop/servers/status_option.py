"""The option that names a status page. A kind declares its own beside its name, so that ``--help`` loads no kind."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatusOption:
    """``--NAME [HOST:]URL``, by the name of the kind. ``forms`` shows URLs that match ``pattern``."""

    name: str
    help: str
    forms: str
    pattern: str
