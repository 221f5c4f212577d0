"""What became of the rules of ``--fail-if``: in a sentence, as rows of a table, as JSON."""

from collections.abc import Sequence

from loadtop.analysis.fail_if import TIMES, UNITS, Compared, Condition, RuleOutcome
from loadtop.analysis.significance import LEAST, LEVEL
from loadtop.analysis.statistic import Json
from loadtop.i18n import figure, plain, tr
from loadtop.reports.tables import Table

LEAST_P = 0.001  # below which a chance is not told more exactly


def sentence(outcome: RuleOutcome) -> str:
    """What was measured; beside the baseline where the rule is about one, and whether the difference is significant."""
    condition = outcome.condition
    if condition.beyond is not None:
        if not outcome.compared:
            return tr("not measured")
        several = len(outcome.compared) > 1
        return "; ".join(
            (f"{plain(host)} " if several and host else "") + _beside(condition, each)
            for host, each in outcome.compared.items()
        )
    if condition.hold_s is not None:
        return tr("true for {seconds:.1f} s without a break", seconds=outcome.held_s)
    values = ", ".join(plain(value) if isinstance(value, str) else figure(value) for value in outcome.measured.values())
    return f"{values} {_unit(condition)}".rstrip()


def cannot_tell(outcome: RuleOutcome) -> bool:
    """Whether the value is beyond the limit, and there are too few intervals to say whether that is chance."""
    return not outcome.broken and any(each.exceeds and each.p is None for each in outcome.compared.values())


def as_json(outcomes: Sequence[RuleOutcome]) -> list[Json]:
    return [
        {
            "rule": outcome.condition.text,
            "held": outcome.broken,
            "unit": _unit(outcome.condition),
            "values": [
                {"host": host, "value": value, **_figures(outcome.compared.get(host))}
                for host, value in outcome.measured.items()
            ],
        }
        for outcome in outcomes
    ]


def table(outcomes: Sequence[RuleOutcome]) -> Table:
    rows = [(each.condition.text, _result(each), sentence(each) or "-") for each in outcomes]
    return Table("Rules", ("rule", "result", "measured"), rows, numbers=False)


def _result(outcome: RuleOutcome) -> str:
    if outcome.broken:
        return tr("failed")
    return tr("passed") if outcome.measured else "-"


def _beside(condition: Condition, compared: Compared) -> str:
    unit = _unit(condition)
    now, before = (f"{figure(value)} {unit}".rstrip() for value in (compared.value, compared.baseline))
    difference = compared.value - compared.baseline
    percent = f" ({100 * difference / abs(compared.baseline):+.1f} %)" if compared.baseline and unit != "%" else ""
    said = tr("{now}, baseline {before}{percent}", now=now, before=before, percent=percent)
    if not compared.exceeds:
        return said
    if compared.p is None:
        why = (
            "too few intervals to tell this from chance: this test and the baseline each need at least {least} whole "
            "intervals under load"
        )
        return f"{said}; {tr(why, least=LEAST)}"
    chance = f"p < {LEAST_P:g}" if compared.p < LEAST_P else f"p = {compared.p:.2g}"
    if compared.significant:
        return f"{said}; {tr('significant')} ({chance})"
    if compared.p < LEVEL:
        why = (
            "not significant: the figure for the whole run and the mean of its intervals changed in opposite directions"
        )
        return f"{said}; {tr(why)} ({chance})"
    return f"{said}; {tr('not significant: it may be chance')} ({chance})"


def _unit(condition: Condition) -> str:
    if condition.metric in TIMES:
        return "ms"
    return "" if condition.count else UNITS.get(condition.metric, "")


def _figures(compared: Compared | None) -> Json:
    if compared is None:
        return {}
    return {
        "baseline": compared.baseline,
        "limit": round(compared.limit, 6),
        "exceeds": compared.exceeds,
        "significant": compared.significant,
        "p": compared.p,
    }
