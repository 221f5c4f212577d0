"""Our plan as a test plan of JMeter: a thread group for each step, one after another."""

from xml.etree.ElementTree import Element, SubElement, tostring

from loadtop.engines.jmeter.settings import runs_in_turn, samplers, threads_of
from loadtop.generator.plan import Plan, Step, Target


def jmx(plan: Plan) -> str:
    """Return the text of a JMX file. It may hold secrets: only for pipes and private files."""
    root = Element("jmeterTestPlan", version="1.2", properties="2.8")
    top = SubElement(root, "hashTree")
    test = _element(top, "TestPlan", "TestPlanGui", "loadtop")
    _bool(test, "TestPlan.serialize_threadgroups", runs_in_turn(plan))
    _arguments(test, "TestPlan.user_defined_variables")
    groups = SubElement(top, "hashTree")
    if plan.warmup_s:
        first = plan.steps[0]
        warmup = Step(concurrency=first.concurrency, rate=first.rate, duration_s=plan.warmup_s)
        _step(groups, "s0", warmup, plan)
    for number, step in enumerate(plan.steps, 1):
        _step(groups, f"s{number}", step, plan)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def _step(groups: Element, name: str, step: Step, plan: Plan) -> None:
    threads = threads_of(step)
    if step.requests is None:
        _group(groups, name, step, plan, threads, -1)
        return
    # Exactly as many requests as requested: some threads make one more than the others.
    threads = min(threads, step.requests)
    loops, more = divmod(step.requests, threads)
    _group(groups, name, step, plan, threads - more, loops)
    if more:
        _group(groups, name, step, plan, more, loops + 1)


def _group(groups: Element, name: str, step: Step, plan: Plan, threads: int, loops: int) -> None:
    group = _element(groups, "ThreadGroup", "ThreadGroupGui", name)
    _text(group, "ThreadGroup.on_sample_error", "continue")
    control = SubElement(group, "elementProp", name="ThreadGroup.main_controller", elementType="LoopController")
    _bool(control, "LoopController.continue_forever", False)
    _text(control, "LoopController.loops", str(loops))
    _text(group, "ThreadGroup.num_threads", str(threads))
    # In the open model threads start one after another, so that their requests are spread evenly.
    _text(group, "ThreadGroup.ramp_time", "0" if step.rate is None else str(max(1, round(threads / step.rate))))
    _bool(group, "ThreadGroup.scheduler", step.duration_s is not None)
    _text(group, "ThreadGroup.duration", "" if step.duration_s is None else str(max(1, round(step.duration_s))))
    _text(group, "ThreadGroup.delay", "")
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
        _bool(sampler, "HTTPSampler.postBodyRaw", True)
        body = SubElement(arguments, "elementProp", name="", elementType="HTTPArgument")
        _bool(body, "HTTPArgument.always_encode", False)
        _text(body, "Argument.value", target.body.decode())
        _text(body, "Argument.metadata", "=")
        _text(sampler, "HTTPSampler.contentEncoding", "UTF-8")
    _text(sampler, "HTTPSampler.domain", f"[{target.host}]" if ":" in target.host else target.host)
    _text(sampler, "HTTPSampler.port", str(target.port))
    _text(sampler, "HTTPSampler.protocol", target.scheme)
    _text(sampler, "HTTPSampler.path", target.path)
    _text(sampler, "HTTPSampler.method", target.method)
    _bool(sampler, "HTTPSampler.follow_redirects", False)
    _bool(sampler, "HTTPSampler.auto_redirects", False)
    _bool(sampler, "HTTPSampler.use_keepalive", plan.keepalive)
    _text(sampler, "HTTPSampler.implementation", "HttpClient4")
    timeout = str(max(1, round(1000 * plan.timeout_s)))
    _text(sampler, "HTTPSampler.connect_timeout", timeout)
    _text(sampler, "HTTPSampler.response_timeout", timeout)
    inner = SubElement(parent, "hashTree")
    headers = _element(inner, "HeaderManager", "HeaderPanel", "headers")
    listed = SubElement(headers, "collectionProp", name="HeaderManager.headers")
    defaults = {"User-Agent": plan.user_agent, "Accept": "*/*"}
    if target.body is not None:
        defaults["Content-Type"] = "text/plain"
    given = {name.lower() for name, _ in target.headers}
    for name, value in [(n, v) for n, v in defaults.items() if n.lower() not in given] + list(target.headers):
        header = SubElement(listed, "elementProp", name=name, elementType="Header")
        _text(header, "Header.name", name)
        _text(header, "Header.value", value)
    SubElement(inner, "hashTree")


def _element(parent: Element, kind: str, gui: str, name: str) -> Element:
    return SubElement(parent, kind, guiclass=gui, testclass=kind, testname=name, enabled="true")


def _arguments(parent: Element, name: str) -> Element:
    found = SubElement(parent, "elementProp", name=name, elementType="Arguments")
    return SubElement(found, "collectionProp", name="Arguments.arguments")


def _text(parent: Element, name: str, text: str) -> None:
    SubElement(parent, "stringProp", name=name).text = text


def _bool(parent: Element, name: str, value: bool) -> None:
    SubElement(parent, "boolProp", name=name).text = "true" if value else "false"
