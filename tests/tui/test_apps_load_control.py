"""Changing the load: sensible steps, and presses that add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.feed import Command, NextStep, RestartLoad, SetConcurrency, SetRate, StopLoad
from tests.tui.scenes import headroom
from tui.apps.load_control import LoadControl, LoadOwner, lowered, raised


@given(st.integers(1, 1_000_000))
def test_steps_lead_up_and_down(value: int) -> None:
    assert raised(value) > value
    assert lowered(value) < value or value == 1
    assert lowered(raised(value)) <= value <= raised(lowered(value))


def test_steps_are_round() -> None:
    up = [1]
    while up[-1] < 1000:
        up.append(raised(up[-1]))
    assert up[:20] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70]
    assert up[-5:] == [600, 700, 800, 900, 1000]
    down = [1000]
    while down[-1] > 1:
        down.append(lowered(down[-1]))
    assert down == up[::-1]


def sample(**changes: object) -> LoadSample:
    load = headroom()[-1].measured.load
    assert load is not None
    return replace(load, **changes)


def test_presses_add_up_until_the_load_follows() -> None:
    sent: list[Command] = []
    load_control = LoadControl(sent.append)
    slow = sample(concurrency=20)
    assert load_control.turn(slow, up=True) == "from 20 to 25 connections"
    assert load_control.turn(slow, up=True) == "from 25 to 30 connections"
    assert load_control.turn(sample(concurrency=30), up=False) == "from 30 to 25 connections"
    assert sent == [SetConcurrency(25), SetConcurrency(30), SetConcurrency(25)]


@pytest.mark.parametrize("changes", [{"concurrency": 1}, {"rate": 1.4}, {"rate": 0.5}])
def test_less_than_one_is_refused(changes: dict[str, float]) -> None:
    sent: list[Command] = []
    assert LoadControl(sent.append).turn(sample(**changes), up=False) == "already at the minimum of 1"
    assert sent == []


def test_a_public_address_gets_no_more_connections_than_were_agreed() -> None:
    sent: list[Command] = []
    load_control = LoadControl(sent.append, most=500)
    running = sample(concurrency=450)
    assert load_control.turn(running, up=True) == "from 450 to 500 connections"
    refused = "more than 500 connections to a public address need --yes"
    assert load_control.turn(running, up=True) == load_control.set(running, "501") == refused
    assert sent == [SetConcurrency(500)]


def test_the_open_model_changes_its_rate() -> None:
    sent: list[Command] = []
    assert LoadControl(sent.append).turn(sample(rate=100.0, concurrency=None), up=True) == "from 100 to 150 requests/s"
    assert sent == [SetRate(150.0)]


@pytest.mark.parametrize(("load_owner", "stops"), [("command", True), ("tune", True), ("plan", False)])
def test_a_load_that_something_else_steers_is_not_changed(load_owner: LoadOwner, stops: bool) -> None:
    """A cell of an experiment would be booked as what it was not."""
    sent: list[Command] = []
    load_control = LoadControl(sent.append, load_owner)
    running = sample(concurrency=20, step=1, steps=3)
    said = {load_control.turn(running, up=True), load_control.set(running, "5"), load_control.restart(running)}
    assert len(said) == 1
    assert said != {""}
    if load_owner != "command":
        assert {load_control.next_step(running)} == said
        assert sent == []
    load_control.stop(runs=True)
    assert (StopLoad() in sent) is stops


def test_without_a_load_nothing_is_sent() -> None:
    sent: list[Command] = []
    load_control = LoadControl(sent.append)
    ended = sample(state=LoadState.DONE)
    assert load_control.turn(None, up=True) == "there is no load to change"
    assert load_control.turn(ended, up=True) == "the load has ended: r restarts it"
    assert load_control.turn(sample(concurrency=None), up=True) == "this load cannot be changed while it runs"
    assert load_control.stop(runs=False) == "no load is running"
    assert sent == []


def test_a_load_is_typed() -> None:
    sent: list[Command] = []
    load_control = LoadControl(sent.append)
    assert load_control.set(sample(concurrency=20), "50") == "from 20 to 50 connections"
    assert load_control.turn(sample(concurrency=20), up=True) == "from 50 to 60 connections"
    assert load_control.set(sample(rate=100.0, concurrency=None), "250") == "from 100 to 250 requests/s"
    assert sent == [SetConcurrency(50), SetConcurrency(60), SetRate(250.0)]


@pytest.mark.parametrize("typed", ["", ".", "0", "99999999", "x"])
def test_typing_errors_send_nothing(typed: str) -> None:
    sent: list[Command] = []
    assert not LoadControl(sent.append).set(sample(concurrency=20), typed).startswith("20 to")
    assert sent == []


def test_again_and_next_step() -> None:
    sent: list[Command] = []
    load_control = LoadControl(sent.append)
    assert load_control.restart(None) == "there is no load to restart"
    assert load_control.restart(sample(state=LoadState.DONE)) == "restarting the load"
    assert load_control.next_step(sample()) == "this load has no steps: set them with --steps 1,2,4"
    stepped = replace(sample(), steps=4)
    assert load_control.next_step(replace(stepped, step=4)) == "this is the last step"
    assert load_control.next_step(stepped) == "step 1 of 4 ends early"
    assert sent == [RestartLoad(), NextStep()]
