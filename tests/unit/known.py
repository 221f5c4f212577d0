"""What is known to be there."""

from typing import TypeVar

Value = TypeVar("Value")


def known(value: Value | None) -> Value:
    """Return the value, which must be there."""
    assert value is not None
    return value
