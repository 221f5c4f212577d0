"""What limits, letters and metrics are called on the screen: one place for each word."""

from loadtop.diagnosis.finding import NONE, Evidence, Finding
from loadtop.diagnosis.verdict import Verdict
from loadtop.i18n import Translatable, tr
from loadtop.servers.registry import EVIDENCE_TITLES, verdict_named
from tui.drawing.glyphs import Glyphs
from tui.drawing.line import Role
from tui.drawing.numbers import quantity
from tui.drawing.text import clip, clip_middle, width


def headline(verdict: Verdict) -> tuple[str, str]:
    """The name that is shown large, and what follows it, in the language of the reader."""
    return tr(verdict.title), tr(verdict.headline)


def letter_of(name: str | None, glyphs: Glyphs) -> tuple[str, Role]:
    """What a verdict's name is in a time strip; a blank for ``None``."""
    if name is None:
        return " ", Role.TEXT
    return (glyphs.dot, Role.DIM) if name == NONE else (verdict_named(name).letter, Role.BAD)


def on(host: str | None) -> str:
    """Where a limit is, as it is put after its name; empty where that is not known."""
    return tr(" on {host}", host=host) if host else ""


LEAST_NAME = 5
"""Cells of a machine's name that stay before a metric."""

_DEVICES: dict[str, Translatable] = {
    "util_pct": "busy",
    "await_ms": "await",
    "tx_mbit_s": "sends",
    "rx_mbit_s": "receives",
}


def metric(name: str) -> str:
    """A metric's name in words; one that has none here is shown as it is written in rules and reports."""
    if name in EVIDENCE_TITLES:
        return tr(EVIDENCE_TITLES[name])
    if name.startswith("core") and name.endswith(".busy_pct"):
        return tr("cpu{core} busy", core=name[4:-9])
    if name.startswith(("disk.", "network.")):
        device, _, what = name.partition(".")[2].rpartition(".")
        return f"{device} {tr(_DEVICES.get(what, what))}"
    return name.replace("_", " ")


def named(where: str, name: str, cells: int, ellipsis: str) -> str:
    """Machine and metric in so many cells: where there is no room for both, it is the machine's name that is cut."""
    words = metric(name)
    return clip(clip_middle(where, max(LEAST_NAME, cells - width(words)), ellipsis) + words, cells, ellipsis)


def threshold_of(evidence: Evidence) -> str:
    """The threshold in words: a limit, or what the value must stay below to speak for the finding."""
    value = quantity(evidence.threshold, evidence.unit)
    return tr("below {value}" if evidence.below else "limit {value}", value=value)


def counts(evidence: Evidence) -> bool:
    """Whether a value is on the side of its threshold on which it speaks for the finding."""
    return evidence.value <= evidence.threshold if evidence.below else evidence.value >= evidence.threshold


def severity(finding: Finding) -> Role:
    """How a verdict is coloured: bad, warning (the measurement or something unseen) or good."""
    if finding.bottleneck == NONE:
        return Role.GOOD
    return Role.WARN if verdict_named(finding.bottleneck).doubtful else Role.BAD
