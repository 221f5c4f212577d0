"""How much CPU time a test allows."""

import sys


def allowed_s(seconds: float) -> float:
    """So much, and ten times that while lines are traced (coverage), which makes each several times as dear."""
    return seconds if sys.gettrace() is None else 10 * seconds
