"""Everything that a report tells of a test, added up moment by moment in constant memory."""

from loadtop.analysis.totals.settings import Settings
from loadtop.analysis.totals.totals import SummaryBuilder
from loadtop.pipeline.snapshot import Snapshot
from loadtop.reports.curves import Curves


class Story:
    """``summary`` may be one that is fed elsewhere already; then ``add`` leaves it alone. ``command_line`` holds no
    secrets."""

    def __init__(
        self, url: str | None = None, command_line: tuple[str, ...] = (), *, summary: SummaryBuilder | None = None
    ) -> None:
        self.command_line = command_line
        self.summary = summary or SummaryBuilder(url)
        self.settings = Settings()
        self.curves = Curves()
        self._feeds = summary is None

    def add(self, snapshot: Snapshot) -> None:
        """Count one moment."""
        if self._feeds:
            self.summary.add(snapshot)
        self.settings.add(snapshot)
        self.curves.add(snapshot)
