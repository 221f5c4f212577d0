"""Verdicts and evidence in words, letters and roles."""

from loadtop.diagnosis.finding import NONE, SURE, Evidence, Finding
from loadtop.i18n import Translatable, rendered, tr
from loadtop.servers.registry import evidence_title, verdict_named
from tui.drawing.appearance import Glyphs
from tui.drawing.line import Line, Role, Span, clip, clip_middle, line, safe, width
from tui.drawing.numbers import quantity

UNSEEN: Translatable = "no figures"  # stands for a verdict where a machine gave none


def headline(name: str) -> tuple[str, str]:
    """The title of a verdict, in capitals, and its headline, in the reader's language."""
    verdict = verdict_named(name)
    return tr(verdict.title).upper(), tr(verdict.headline)


def finding_headline(finding: Finding) -> tuple[str, str]:
    """The same for a finding; the headline names the service or the lock, where that is the limit."""
    title, words = headline(finding.bottleneck)
    if finding.subject is not None:
        words = tr("{subject} is the limit", subject=rendered(finding.subject, safe))
    return title, words if finding.confidence >= SURE else tr("probably {headline}", headline=words)


def titled(name: str, host: str | None) -> str:
    return tr(verdict_named(name).title) + on(host)


def finding_titled(finding: Finding, host: str | None) -> str:
    """The title of a finding, with the service or the lock that is the limit."""
    title = tr(verdict_named(finding.bottleneck).title)
    subject = "" if finding.subject is None else f" {rendered(finding.subject, safe)}"
    return title + subject + on(host)


def sentence(finding: Finding) -> Line:
    """A finding in a sentence that starts with its title."""
    title, rest = finding_headline(finding)
    colon = ":" if verdict_named(finding.bottleneck).clause else ""
    return line(Span(title, severity(finding)), f"{colon} {rest}{on(finding.host)}")


def letter_of(name: str | None, glyphs: Glyphs) -> tuple[str, Role]:
    """A verdict's letter in a time strip, and its role; a blank for ``None``."""
    if name is None:
        return " ", Role.TEXT
    if name == UNSEEN:
        return glyphs.unsure, Role.WARN
    return (glyphs.dot, Role.DIM) if name == NONE else (verdict_named(name).letter, Role.BAD)


def on(host: str | None) -> str:
    return tr(" on {host}", host=safe(host)) if host else ""


LEAST_NAME = 5  # cells of a machine's name that stay before a metric


def named(where: str, name: str, cells: int, ellipsis: str) -> str:
    """Machine and metric in ``cells`` cells; if there is no room for both, the machine's name is cut."""
    words = evidence_title(name)
    return clip(clip_middle(where, max(LEAST_NAME, cells - width(words)), ellipsis) + words, cells, ellipsis)


def threshold_of(evidence: Evidence) -> str:
    value = quantity(evidence.threshold, evidence.unit)
    return tr("below {value}" if evidence.below else "threshold {value}", value=value)


def compared(evidence: Evidence) -> str:
    """The threshold, and that a value is below it where that value does not support the finding."""
    if evidence.below or counts(evidence):
        return threshold_of(evidence)
    return tr("below threshold {value}", value=quantity(evidence.threshold, evidence.unit))


def counts(evidence: Evidence) -> bool:
    """Whether a value is beyond its threshold and supports the finding."""
    return evidence.value <= evidence.threshold if evidence.below else evidence.value >= evidence.threshold


def severity(finding: Finding) -> Role:
    """The role of a finding: bad, good, or a warning where the measurement itself is in doubt."""
    if finding.bottleneck == NONE:
        return Role.GOOD
    return Role.WARN if verdict_named(finding.bottleneck).doubtful else Role.BAD
