"""Plans for JMeter: checks of ours and each machine's share of it, our test plan, and the user's own."""

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element, SubElement

from msgspec import Struct
from msgspec.structs import replace

from loadtop.engines.engine import Machine, impossible, users_for_rate
from loadtop.generator.plan import Plan, PlanError, Step, Target, total
from loadtop.i18n import Message

MAX_SAMPLERS = 200  # samplers in a plan: JMeter draws one of them at random, so a target needs as many as its weight
METHODS = ("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE")


class UserPlan(Struct, frozen=True):
    """``threads`` and ``duration``: whether the plan reads these properties, for -c and -t."""

    file: Path
    text: str
    root: Element
    threads: bool
    duration: bool

    def url(self) -> str | None:
        """Return the first URL without variables in the plan, if there is one."""
        for sampler in (*self.root.iter("HTTPSamplerProxy"), *self.root.iter("ConfigTestElement")):
            parts = [_property(sampler, f"HTTPSampler.{name}") for name in ("protocol", "domain", "port", "path")]
            scheme, host, port, path = parts
            if host and not any("${" in part for part in parts):
                return f"{scheme or 'http'}://{host}{':' + port if port else ''}/{path.removeprefix('/')}"
        return None

    def data_files(self) -> Iterator[str]:
        for data in self.root.iter("CSVDataSet"):
            name = _property(data, "filename")
            if name and not name.startswith(("/", "${")):
                yield name


class JmeterSettings(Struct, frozen=True):
    """A load by JMeter. ``program`` is its command here; other machines look for it on PATH.

    ``servers`` are remote servers that make the load; JMeter then runs here as their client. ``time_given`` and
    ``concurrency_given``: whether -t and -c set the duration and the threads of a user's plan.
    """

    plan: Plan
    machines: tuple[Machine, ...]
    program: str
    user_plan: UserPlan | None = None
    time_given: bool = True
    concurrency_given: bool = True
    servers: tuple[str, ...] = ()

    @property
    def machine_count(self) -> int:
        return len(self.servers or self.machines)

    @property
    def sets_threads(self) -> bool:
        """Whether loadtop sets the number of threads, not the user's plan."""
        return self.user_plan is None or (self.user_plan.threads and self.concurrency_given)

    @property
    def can_restart(self) -> bool:
        """Whether JMeter can be restarted with another number of threads, as if the load had continued."""
        if self.user_plan is not None:
            return self.sets_threads
        step = self.plan.steps[0]
        return len(self.plan.steps) == 1 and step.requests is None and step.rate is None

    @property
    def duration_s(self) -> float | None:
        return total(step.duration_s for step in self.plan.steps) if self.time_given else None


def check(plan: Plan) -> None:
    """Raise PlanError for what JMeter cannot do, if the plan is not the user's own."""
    if plan.verify_tls and any(target.origin.scheme == "https" for target in plan.targets):
        raise PlanError("--engine jmeter does not verify certificates. Add --insecure to accept that.")
    for target in plan.targets:
        if target.method not in METHODS:
            known = Message("use one of {methods}", methods=", ".join(METHODS))
            raise impossible(f"-m {target.method}", "jmeter", known)
        if "${" in json.dumps([target.path, target.headers, _body_text(target.body)]):
            raise PlanError(
                "a URL, header or body contains ${{, which JMeter would expand: use your own plan (--plan PLAN.jmx)"
            )
    samplers(plan)
    for step in plan.steps:
        if runs_in_turn(plan) and step.requests is not None and step.requests % threads_of(step):
            raise PlanError(
                "With --engine jmeter, -n must be a multiple of the threads of every step: {requests} is not a "
                "multiple of {threads}.",
                requests=step.requests,
                threads=threads_of(step),
            )


def check_even(plan: Plan, servers: int) -> None:
    """Raise PlanError if remote servers, which all run the same plan, cannot have equal shares."""
    for step in plan.steps:
        for option, number in (("-c", step.concurrency), ("-n", step.requests)):
            if number is not None and number % servers:
                raise PlanError(
                    "{option} must be a multiple of {servers}, got {number}: each -R server gets an equal share.",
                    option=option,
                    number=number,
                    servers=servers,
                )


def runs_in_turn(plan: Plan) -> bool:
    return len(plan.steps) > 1 or plan.warmup_s > 0


def samplers(plan: Plan) -> list[int]:
    """Return indexes of the targets, each as often as its weight requires. Raises PlanError for too many."""
    weights = [Fraction(target.weight).limit_denominator(MAX_SAMPLERS) for target in plan.targets]
    least = min(weights)
    ratios = [weight / least if least else weight for weight in weights]
    common = lcm(*(ratio.denominator for ratio in ratios))
    times = [int(ratio * common) for ratio in ratios]
    if not least or sum(times) > MAX_SAMPLERS:
        raise PlanError(
            "the JMeter plan lists each URL as often as its weight says, and these weights need more than {most} "
            "entries: use small whole numbers",
            most=MAX_SAMPLERS,
        )
    return [index for index, number in enumerate(times) for _ in range(number)]


def threads_of(step: Step) -> int:
    """Return the threads of a step: one for each connection, or enough for the rate."""
    return step.concurrency or 1 if step.rate is None else users_for_rate(step.rate)


def share_of(plan: Plan, number: int, machines: int) -> Plan:
    """Return what machine ``number`` (from 0) does of a plan. Raises PlanError if it cannot be divided."""

    def share(whole: int, option: str) -> int:
        if whole < machines:
            raise PlanError(
                "{option} must be at least {machines}, one for each machine, got {number}.",
                option=option,
                number=whole,
                machines=machines,
            )
        return whole // machines + (number < whole % machines)

    steps = tuple(
        replace(
            step,
            concurrency=None if step.concurrency is None else share(step.concurrency, "-c"),
            rate=None if step.rate is None else step.rate / machines,
            requests=None if step.requests is None else share(step.requests, "-n"),
        )
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def _body_text(body: bytes | None) -> str:
    """Return a body as text that XML can hold."""
    try:
        text = (body or b"").decode()
    except UnicodeDecodeError:
        text = "\0"
    if any(ord(char) < 32 and char not in "\t\r\n" for char in text):
        raise impossible(Message("a body that is not plain text"), "jmeter")
    return text


def read_user_plan(file: Path) -> UserPlan:
    """Read and check a plan. Raises PlanError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PlanError("cannot read the plan {file}: {reason}", file=str(file), reason=reason) from None
    try:
        root = ET.fromstring(text)  # noqa: S314 - the user's own file
    except ET.ParseError as error:
        raise PlanError("the plan {file} is not XML: {reason}", file=str(file), reason=str(error)) from None
    if root.tag != "jmeterTestPlan":
        raise PlanError(
            "the plan {file} is not a JMeter plan: it starts with <{tag}>, not with <jmeterTestPlan>",
            file=str(file),
            tag=root.tag,
        )
    read = re.findall(r"\$\{__(?:P|property)\(\s*(\w+)\s*[,)]", text)
    return UserPlan(file.resolve(), text, root, "threads" in read, "duration" in read)


def _property(element: Element, name: str) -> str:
    found = next((child for child in element if child.get("name") == name), None)
    return "" if found is None else (found.text or "").strip()


def jmx(plan: Plan) -> str:
    """Return the text of a JMX file. It may hold secrets: only for pipes and private files."""
    root = Element("jmeterTestPlan", version="1.2", properties="2.8")
    top = SubElement(root, "hashTree")
    test = _element(top, "TestPlan", "TestPlanGui", "loadtop")
    _set(test, "TestPlan.serialize_threadgroups", runs_in_turn(plan))
    _arguments(test, "TestPlan.user_defined_variables")
    groups = SubElement(top, "hashTree")
    if plan.warmup_s:
        first = plan.steps[0]
        warmup = Step(concurrency=first.concurrency, rate=first.rate, duration_s=plan.warmup_s)
        _step(groups, "s0", warmup, plan)
    for number, step in enumerate(plan.steps, 1):
        _step(groups, f"s{number}", step, plan)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _step(groups: Element, name: str, step: Step, plan: Plan) -> None:
    threads, loops, more = threads_of(step), -1, 0
    if step.requests is not None:  # exactly as many requests as requested: some threads make one more than the others
        threads = min(threads, step.requests)
        loops, more = divmod(step.requests, threads)
    _group(groups, name, step, plan, threads - more, loops)
    if more:
        _group(groups, name, step, plan, more, loops + 1)


def _group(groups: Element, name: str, step: Step, plan: Plan, threads: int, loops: int) -> None:
    group = _element(groups, "ThreadGroup", "ThreadGroupGui", name)
    _set(group, "ThreadGroup.on_sample_error", "continue")
    control = SubElement(group, "elementProp", name="ThreadGroup.main_controller", elementType="LoopController")
    _set(control, "LoopController.continue_forever", False)
    _set(control, "LoopController.loops", str(loops))
    _set(group, "ThreadGroup.num_threads", str(threads))
    # In the open model threads start one after another, so that their requests are spread evenly.
    _set(group, "ThreadGroup.ramp_time", "0" if step.rate is None else str(max(1, round(threads / step.rate))))
    _set(group, "ThreadGroup.scheduler", step.duration_s is not None)
    _set(group, "ThreadGroup.duration", "" if step.duration_s is None else str(max(1, round(step.duration_s))))
    _set(group, "ThreadGroup.delay", "")
    inner = SubElement(groups, "hashTree")
    if step.rate is not None:
        timer = _element(inner, "ConstantThroughputTimer", "TestBeanGUI", "rate")
        SubElement(timer, "intProp", name="calcMode").text = "0"
        throughput = SubElement(timer, "doubleProp")
        SubElement(throughput, "name").text = "throughput"
        SubElement(throughput, "value").text = str(60.0 * step.rate / threads)  # per minute
        SubElement(throughput, "savedValue").text = "0.0"
        SubElement(inner, "hashTree")
    chosen = samplers(plan)
    if len(chosen) > 1:
        _element(inner, "RandomController", "RandomControlGui", "any")
        inner = SubElement(inner, "hashTree")
    for index in chosen:
        _sampler(inner, plan.targets[index], plan)


def _sampler(parent: Element, target: Target, plan: Plan) -> None:
    sampler = _element(parent, "HTTPSamplerProxy", "HttpTestSampleGui", target.path)
    arguments = _arguments(sampler, "HTTPsampler.Arguments")
    if target.body is not None:
        _set(sampler, "HTTPSampler.postBodyRaw", True)
        body = SubElement(arguments, "elementProp", name="", elementType="HTTPArgument")
        _set(body, "HTTPArgument.always_encode", False)
        _set(body, "Argument.value", target.body.decode())
        _set(body, "Argument.metadata", "=")
        _set(sampler, "HTTPSampler.contentEncoding", "UTF-8")
    _set(sampler, "HTTPSampler.domain", f"[{target.origin.host}]" if ":" in target.origin.host else target.origin.host)
    _set(sampler, "HTTPSampler.port", str(target.origin.port))
    _set(sampler, "HTTPSampler.protocol", target.origin.scheme)
    _set(sampler, "HTTPSampler.path", target.path)
    _set(sampler, "HTTPSampler.method", target.method)
    _set(sampler, "HTTPSampler.follow_redirects", False)
    _set(sampler, "HTTPSampler.auto_redirects", False)
    _set(sampler, "HTTPSampler.use_keepalive", plan.keepalive)
    _set(sampler, "HTTPSampler.implementation", "HttpClient4")
    timeout = str(max(1, round(1000 * plan.timeout_s)))
    _set(sampler, "HTTPSampler.connect_timeout", timeout)
    _set(sampler, "HTTPSampler.response_timeout", timeout)
    inner = SubElement(parent, "hashTree")
    headers = _element(inner, "HeaderManager", "HeaderPanel", "headers")
    listed = SubElement(headers, "collectionProp", name="HeaderManager.headers")
    defaults = {"User-Agent": plan.user_agent, "Accept": "*/*"}
    if target.body is not None:
        defaults["Content-Type"] = "text/plain"
    given = {name.lower() for name, _ in target.headers}
    for name, value in [(n, v) for n, v in defaults.items() if n.lower() not in given] + list(target.headers):
        header = SubElement(listed, "elementProp", name=name, elementType="Header")
        _set(header, "Header.name", name)
        _set(header, "Header.value", value)
    SubElement(inner, "hashTree")


def _element(parent: Element, kind: str, gui: str, name: str) -> Element:
    return SubElement(parent, kind, guiclass=gui, testclass=kind, testname=name, enabled="true")


def _arguments(parent: Element, name: str) -> Element:
    found = SubElement(parent, "elementProp", name=name, elementType="Arguments")
    return SubElement(found, "collectionProp", name="Arguments.arguments")


def _set(parent: Element, name: str, value: str | bool) -> None:
    kind, text = ("boolProp", str(value).lower()) if isinstance(value, bool) else ("stringProp", value)
    SubElement(parent, kind, name=name).text = text
