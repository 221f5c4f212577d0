"""A machine that another engine generates load on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Generator:
    """``place`` is ``local``, or ``ssh://[USER@]HOST[:PORT]``."""

    name: str
    place: str

    @property
    def far(self) -> bool:
        """Whether it is reached by SSH."""
        return self.place != "local"


HERE = Generator("this machine", "local")
