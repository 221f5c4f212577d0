"""Plans made for JMeter, what is refused, how machines share one, and what is read of a user's own."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.load import load_maker
from loadtop.cli.options.command_line import parse
from loadtop.engines.engine import Machine
from loadtop.engines.jmeter.plan import JmeterSettings, check, jmx, read_user_plan, samplers, share_of
from loadtop.generator.plan import Plan, PlanError, Step, Target

PAGE = Target.parse("http://web1/a?b=c&d", headers=(("X-Test", 'a<"b"'),))
TEN_S = Step(concurrency=4, duration_s=10)


def plan(*targets: Target, steps: tuple[Step, ...] = (TEN_S,), warmup_s: float = 0.0) -> Plan:
    return Plan(targets or (PAGE,), steps, warmup_s=warmup_s)


def texts(root: ET.Element, name: str) -> list[str]:
    return [each.text or "" for each in root.iter() if each.get("name") == name]


def made(of: Plan) -> ET.Element:
    return ET.fromstring(jmx(of))  # noqa: S314 - made here


def test_a_plan_of_one_page() -> None:
    root = made(plan())
    assert texts(root, "ThreadGroup.num_threads") == ["4"]
    assert texts(root, "ThreadGroup.duration") == ["10"]
    assert texts(root, "HTTPSampler.path") == ["/a?b=c&d"]
    assert 'a<"b"' in texts(root, "Header.value")


@pytest.mark.parametrize(("requests", "threads", "loops"), [(8, ["4"], ["2"]), (10, ["2", "2"], ["2", "3"])])
def test_exactly_as_many_requests(requests: int, threads: list[str], loops: list[str]) -> None:
    root = made(plan(steps=(Step(concurrency=4, requests=requests),)))
    assert texts(root, "ThreadGroup.num_threads") == threads
    assert texts(root, "LoopController.loops") == loops
    assert texts(root, "TestPlan.serialize_threadgroups") == ["false"]


def test_fewer_requests_than_connections() -> None:
    root = made(plan(steps=(Step(concurrency=4, requests=3),)))
    assert texts(root, "ThreadGroup.num_threads") == ["3"]


def test_steps_follow_each_other_after_the_warm_up() -> None:
    root = made(plan(steps=(TEN_S, Step(concurrency=8, duration_s=5)), warmup_s=2))
    names = [each.get("testname") for each in root.iter("ThreadGroup")]
    assert names == ["s0", "s1", "s2"]
    assert texts(root, "ThreadGroup.duration") == ["2", "10", "5"]
    assert texts(root, "TestPlan.serialize_threadgroups") == ["true"]


def test_a_rate_is_shared_by_its_threads() -> None:
    root = made(plan(steps=(Step(rate=50, duration_s=5),)))
    assert texts(root, "ThreadGroup.num_threads") == ["100"]
    assert [each.text for each in root.iter("value")] == ["30.0"]


def test_weights_become_so_many_samplers() -> None:
    heavy = Target.parse("http://web1/h", weight=2.5)
    assert samplers(plan(PAGE, heavy)) == [0, 0, 1, 1, 1, 1, 1]
    with pytest.raises(PlanError, match="small whole numbers"):
        samplers(plan(PAGE, Target.parse("http://web1/h", weight=1000)))


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (plan(Target.parse("https://web1/")), "--insecure"),
        (plan(Target.parse("http://web1/", method="PURGE")), "-m PURGE"),
        (plan(Target.parse("http://web1/", method="POST", body=b"\xff")), "not plain text"),
        (plan(Target.parse("http://web1/${x}")), "would expand"),
        (plan(steps=(Step(concurrency=4, requests=10),), warmup_s=1), "a multiple of"),
    ],
)
def test_its_limits(refused: Plan, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        check(refused)


def test_machines_share_a_plan() -> None:
    whole = plan(steps=(Step(concurrency=5, requests=11),))
    parts = [share_of(whole, number, 2).steps[0] for number in range(2)]
    assert [(step.concurrency, step.requests) for step in parts] == [(3, 6), (2, 5)]
    with pytest.raises(PlanError, match="must be at least 6"):
        share_of(whole, 0, 6)


def test_the_users_own_plan(tmp_path: Path) -> None:
    file = tmp_path / "own.jmx"
    file.write_text(jmx(plan()).replace(">4<", ">${__P(threads,3)}<"))
    own = read_user_plan(file)
    assert (own.threads, own.duration) == (True, False)
    assert own.url() == "http://web1:80/a?b=c&d"
    assert list(own.data_files()) == []
    options = parse(["run", "--engine", "jmeter", "--plan", str(file)])
    assert options.plan is not None
    assert options.plan.targets[0].origin.host == "web1"
    assert (options.time, options.concurrency) == (None, None)


def test_data_files_must_be_there_on_remote_hosts(tmp_path: Path) -> None:
    file = tmp_path / "own.jmx"
    data = '<CSVDataSet><stringProp name="filename">users.csv</stringProp></CSVDataSet>'
    file.write_text(jmx(plan()).replace("</hashTree></jmeterTestPlan>", f"{data}</hashTree></jmeterTestPlan>"))
    options = parse(["--engine", "jmeter", "--generator", "g1=ssh://g1", "--plan", str(file)])
    with pytest.raises(UsageError, match=r"reads users\.csv"):
        load_maker(options)


def test_when_threads_can_be_turned(tmp_path: Path) -> None:
    file = tmp_path / "own.jmx"
    file.write_text(jmx(plan()).replace(">4<", ">${__P(threads,3)}<"))
    own = read_user_plan(file)
    here = (Machine("local", "local"),)
    assert JmeterSettings(plan(), here, "jmeter").can_restart
    assert not JmeterSettings(plan(steps=(TEN_S, TEN_S)), here, "jmeter").can_restart
    assert not JmeterSettings(plan(steps=(Step(concurrency=1, requests=9),)), here, "jmeter").can_restart
    assert JmeterSettings(plan(), here, "jmeter", own).can_restart
    assert not JmeterSettings(plan(), here, "jmeter", own, concurrency_given=False).can_restart
