"""What the diagnosis of a frame costs: rates, findings and verdict of many machines, all of whose limits are looked at.

``python -m benchmarks.diagnosis [HOSTS]`` prints the time per frame for HOSTS machines (10), and beside it that of
writing the same frame down as JSON, in the same run.
"""

import json
import sys
import time
from itertools import islice

import msgspec

from benchmarks.made_frames import made_frames
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.model import Frame
from loadtop.rates.measured import Measurer
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS

FRAMES = 200
MOST_MS = 1.0


def diagnosis_ms(frames: list[Frame]) -> tuple[float, float]:
    """Median ms per frame of the rates, and of the diagnosis."""
    measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
    rates: list[float] = []
    verdicts: list[float] = []
    for frame in frames:
        began = time.perf_counter()
        measured = measurer.measure(frame)
        between = time.perf_counter()
        diagnoser.diagnose(measured)
        rates.append(between - began)
        verdicts.append(time.perf_counter() - between)
    middle = len(frames) // 2
    return 1000 * sorted(rates)[middle], 1000 * sorted(verdicts)[middle]


def main() -> None:
    """Print a line."""
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    frames = list(islice(made_frames(hosts, rps=2000), FRAMES))
    rates, verdict = diagnosis_ms(frames)
    began = time.perf_counter()
    for frame in frames[:20]:
        json.dumps(msgspec.to_builtins(frame))
    written = 1000 * (time.perf_counter() - began) / 20
    print(
        f"{hosts} hosts: diagnosis {verdict:.3f} ms per frame (at most {MOST_MS:.0f}), rates {rates:.3f} ms, "
        f"the frame as JSON {written:.3f} ms"
    )
    if verdict > MOST_MS:
        sys.exit(f"the diagnosis takes more than {MOST_MS:.0f} ms per frame")


if __name__ == "__main__":
    main()
