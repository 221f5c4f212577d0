"""What Locust gets of a plan, and what is refused."""

import asyncio
import json
from typing import Any

import pytest

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.command_line import parse
from loadtop.engines.engine import LOCAL, Machine, read_resource
from loadtop.engines.locust.load import LocustLoad, LocustProcess, check, plan_json, rate_per_user, users_of
from loadtop.generator.plan import Plan, PlanError, Step, Target
from tests.unit.known import known


def plan(*steps: Step, **settings: Any) -> Plan:
    targets = (
        Target.parse("http://u:p@web1/a?x=1", headers=(("X-A", "1"),)),
        Target.parse("http://web1/b", method="POST", body=b"\0body", weight=2.5),
    )
    return Plan(targets, steps or (Step(concurrency=3, duration_s=1.0),), **settings)


def test_the_plan_goes_over_whole() -> None:
    text = plan_json(plan(keepalive=True, verify_tls=False, timeout_s=4.0), "ab" * 32, with_targets=True)
    data = json.loads(text)
    assert (data["keepalive"], data["insecure"], data["timeout_s"], data["rate_per_user"]) == (True, True, 4.0, None)
    assert (data["host"], data["key"]) == ("http://web1", "ab" * 32)
    first, second = data["targets"]
    assert first["headers"]["Authorization"].startswith("Basic ")
    assert (first["url"], first["path"], first["body"]) == ("http://web1/a?x=1", "/a?x=1", None)
    assert (second["method"], bytes.fromhex(second["body"]), second["weight"]) == ("POST", b"\0body", 2.5)


def test_an_own_plan_replaces_ours() -> None:
    assert json.loads(plan_json(plan(), "", with_targets=False))["targets"] == []
    sample = known(LocustLoad(plan(), (LOCAL, Machine("g", "ssh://g")), "locust", user_plan="import locust").take())
    assert sample.keepalive is None  # the user's plan says what is requested, and how


async def test_workers_that_cannot_be_started_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))

    async def start(process: LocustProcess, *_: object) -> None:
        if process.machine.remote:
            raise RuntimeError("no pipe")

    monkeypatch.setattr(LocustProcess, "start", start)
    load = LocustLoad(plan(), (Machine("g", "ssh://g"),), "locust")
    await load.start()
    async with asyncio.timeout(5):
        await load.wait()
    assert [str(error) for error in errors] == ["no pipe"]
    await load.close()


def test_a_rate_has_users_enough() -> None:
    step = Step(rate=50.0, duration_s=1.0)
    assert users_of(step) == 100
    assert rate_per_user(plan(step)) == 0.5
    assert users_of(Step(rate=50.0, concurrency=7, duration_s=1.0)) == 7


def test_options_unsupported_by_locust_are_refused() -> None:
    with pytest.raises(PlanError, match="--workers auto does not work"):
        check(plan(more_workers=True))
    check(plan())


def test_generators_are_named_once_and_placed() -> None:
    def generators(*texts: str) -> list[tuple[str, str]]:
        words = [word for text in texts for word in ("--generator", text)]
        return parse(["--engine", "locust", *words, "-t", "1", "http://w/"]).generators

    assert generators("a=local", "b=ssh://u@h:22") == [("a", "local"), ("b", "ssh://u@h:22")]
    for wrong in (["a"], ["=local"], ["a=http://h"], ["a=ssh://-oProxyCommand=x"], ["a=local", "a=ssh://h"]):
        with pytest.raises(UsageError, match="--generator"):
            generators(*wrong)


def test_generators_are_watched() -> None:
    options = parse(["--engine", "locust", "--generator", "g=ssh://g", "--host", "w=ssh://w", "-t", "1", "http://w/"])
    assert dict(options.hosts) == {"w": "ssh://w", "local": "local", "g": "ssh://g"}
    assert options.load_hosts == {"g"}
    same = parse(["--engine", "locust", "--generator", "g=ssh://w", "--host", "w=ssh://w", "-t", "1", "http://w/"])
    assert same.load_hosts == {"w"}
    assert "g" not in dict(same.hosts)
    with pytest.raises(UsageError, match="both use the name w"):
        parse(["--engine", "locust", "--generator", "w=ssh://g", "--host", "w=ssh://w", "-t", "1", "http://w/"])


def test_what_runs_elsewhere_is_there() -> None:
    compile(read_resource("locust/locustfile.txt"), "locustfile", "exec")
    assert "tool() {" in read_resource("locust/locust.sh")
