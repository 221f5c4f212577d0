"""How often the verdicts are right that are said with some confidence, over all recordings of the laboratory, as they
are and with stolen time. Prints the table of docs/lab.md: ``python -m tests.unit.calibration``.

What counts is each verdict of each interval in which load runs, as a person who looks at the cockpit reads it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from loadtop.diagnosis.cpu import STEAL_PCT
from loadtop.model import LoadState
from loadtop.pipeline.snapshot import snapshots
from tests.lab.keeping import kept_frames
from tests.unit.lab_recordings import RECORDINGS, limit_of
from tests.unit.stealing import Thieves

STOLEN_PCT = (0, 5, 15, 30)


class Said(NamedTuple):
    confidence: float
    right: bool


def said_of(recording: Path, stolen_pct: float) -> list[Said]:
    """What is said of a recording whose machines lose such a share of the CPU time. Where that is what a machine
    without idle time lacks, ``steal`` is right too. A confidence of 0 says nothing."""
    thieves, found = Thieves(stolen_pct / 100), list[tuple[float, str]]()
    for snapshot in snapshots(map(thieves.steal, kept_frames(recording))):
        verdict = snapshot.diagnosis.verdict
        if snapshot.load is not None and snapshot.load.state is LoadState.RUNNING and verdict.confidence:
            found.append((verdict.confidence, verdict.bottleneck))
    right = {limit_of(recording)}
    if stolen_pct > STEAL_PCT and thieves.needed():
        right.add("steal")
    return [Said(confidence, name in right) for confidence, name in found]


def brier(said: Sequence[Said]) -> float:
    """The mean squared difference of confidence and outcome (Brier 1950): 0 is perfect, 0.25 is that of a coin."""
    return sum((each.confidence - each.right) ** 2 for each in said) / len(said)


def reliability(said: Sequence[Said]) -> list[str]:
    """A row of Markdown for each tenth of confidence in which something was said."""
    rows: list[str] = []
    for tenth in range(10):
        among = [each for each in said if tenth == min(9, int(10 * each.confidence))]
        if among:
            mean, right = sum(each.confidence for each in among), sum(each.right for each in among)
            share, hit = mean / len(among), right / len(among)
            rows.append(f"| {tenth / 10:.1f} to {(tenth + 1) / 10:.1f} | {len(among)} | {share:.2f} | {hit:.2f} |")
    return rows


def main() -> None:
    said = {stolen: [each for path in RECORDINGS for each in said_of(path, stolen)] for stolen in STOLEN_PCT}
    together = [each for part in said.values() for each in part]
    print("| confidence | verdicts | mean | right |\n| --- | ---: | ---: | ---: |")
    print("\n".join(reliability(together)))
    print(f"\nBrier score: {brier(together):.3f}")
    for stolen, part in said.items():
        print(f"with {stolen} % stolen: {brier(part):.3f}, {sum(each.right for each in part)} of {len(part)} right")


if __name__ == "__main__":
    main()
