"""How much CPU time a test allows."""

import sys
import time
from collections.abc import Callable


def allowed_s(seconds: float) -> float:
    """So much, and ten times that while lines are traced (coverage), which makes each several times as dear."""
    return seconds if sys.gettrace() is None else 10 * seconds


def least_s(step: Callable[[], object], allowed: float) -> float:
    """The CPU time of the step: the least of three runs where the first takes longer than allowed. A neighbour on the
    same core can make any one run several times as dear."""
    least = float("inf")
    for _ in range(3):
        began = time.process_time()
        step()
        least = min(least, time.process_time() - began)
        if least <= allowed:
            break
    return least
