"""Tasks that no one awaits, and what the loop's exception handler is reported of them."""

import asyncio
from typing import Any

import pytest

from loadtop.pipeline.background import MAX_ERROR_TEXT, background, described, mistake


@pytest.fixture
async def told() -> list[dict[str, Any]]:
    """What the running loop's exception handler gets."""
    contexts: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: contexts.append(context))
    return contexts


async def fail(error: Exception) -> None:
    await asyncio.sleep(0)
    raise error


async def test_an_exception_reaches_the_loop_at_once_while_the_task_is_still_held(told: list[dict[str, Any]]) -> None:
    task = background(fail(ValueError("oh no")), "reader")
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert [(each["message"], str(each["exception"])) for each in told] == [("reader stopped unexpectedly", "oh no")]
    assert mistake(told[0]) is task.exception()


async def test_an_end_and_a_cancellation_do_not(told: list[dict[str, Any]]) -> None:
    ended, cancelled = background(asyncio.sleep(0)), background(asyncio.sleep(60))
    await asyncio.wait({ended})
    cancelled.cancel()
    await asyncio.wait({cancelled})
    await asyncio.sleep(0)
    assert told == []


def test_errors_of_the_network_are_mistakes_only_in_code_of_ours() -> None:
    error = ConnectionResetError("reset")
    assert mistake({"exception": error, "transport": object(), "protocol": object()}) is None
    assert mistake({"exception": error, "handle": object()}) is error
    assert mistake({"exception": KeyError("nobody asked"), "future": object()}) is None
    assert mistake({"message": "a transport was not closed"}) is None
    assert mistake({"exception": KeyError("x"), "protocol": object()}) is not None


def test_it_is_described_in_one_short_line_with_its_place() -> None:
    with pytest.raises(RuntimeError) as raised:
        raise RuntimeError("one\ntwo " + "x" * 100_000)
    text = str(described(raised.value))
    assert "RuntimeError: one two xxx" in text
    assert "(test_background.py:" in text
    assert len(text) < MAX_ERROR_TEXT + 100
    assert "\n" not in text
