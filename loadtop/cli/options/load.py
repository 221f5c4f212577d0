"""The load of the command line, as a plan for the generator."""

import ipaddress
import re
from dataclasses import replace
from pathlib import Path

from loadtop.cli.exit_codes import FileError, UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.options.table import DEFAULT_CONCURRENCY, DEFAULT_STEP_S, DEFAULT_TIME_S, options_of
from loadtop.generator.plan import Plan, PlanError, Proxy, Step, Target, TlsOptions, basic_auth, check_header
from loadtop.i18n import Message, Translatable, plural

_CONTRADICTION: Translatable = "{option} and {other} contradict each other: give one of them"

LARGEST_FILE = 1 << 30
"""Bytes: each worker holds every body in memory."""

Headers = tuple[tuple[str, str], ...]


def build_plan(options: Options) -> Plan:
    """The load of ``run`` or ``tune``. Raises UsageError and PlanError; reads bodies and URL lists."""
    if options.certificate is not None:
        _read(Path(options.certificate))
    plan = Plan(
        targets=_targets(options),
        steps=_steps(options),
        keepalive=options.keepalive,
        timeout_s=options.timeout,
        any_length=options.any_length,
        keep_going=options.keep_going,
        verify_tls=not options.insecure,
        warmup_s=options.warmup,
        workers=options.workers or 1,
        more_workers=options.workers == 0,
        verbosity=options.verbosity,
        proxy=_proxy(options),
        bind=options.bind,
        socket_buffer=options.buffer,
        tls=TlsOptions(options.protocol, options.ciphers, options.certificate, not options.no_sni),
    )
    _check_headers(options)
    _check_framing(plan)
    _check_numbers(plan, stepped=options.steps is not None)
    _check_addresses(plan)
    _check_tls(options, plan)
    return plan


def _steps(options: Options) -> tuple[Step, ...]:
    if options.command == "tune":  # it changes the concurrency, and the load must not end before it does
        return (Step(options.first, duration_s=options.limits.total_s + options.limits.most_step_s),)
    if options.steps is not None:
        return _several_steps(options, options.steps)
    if options.step_time is not None:
        raise UsageError("--step-time is the time of each step: give --steps 1,2,4,... with it, or use -t")
    concurrency, seconds = options.concurrency, options.time
    if options.requests is None and seconds is None:
        # A bare URL gets a load that shows something; with -c, -n or -t the rest is ab's.
        seconds = DEFAULT_TIME_S
        concurrency = concurrency or (None if options.rate is not None else DEFAULT_CONCURRENCY)
    if options.rate is None:
        concurrency = concurrency or 1
    return (Step(concurrency, options.rate, seconds, options.requests),)


def _several_steps(options: Options, steps: str) -> tuple[Step, ...]:
    if options.concurrency is not None or options.time is not None:
        given = "-c" if options.concurrency is not None else "-t"
        raise UsageError(f"--steps and {given} contradict each other: the steps say how many, --step-time how long")
    seconds = options.step_time or (None if options.requests is not None else DEFAULT_STEP_S)
    found: list[Step] = []
    for word in steps.split(","):
        try:
            concurrency, rate = (int(word), None) if options.rate is None else (None, float(word))
        except ValueError:
            raise UsageError(f"--steps '{steps}': '{word}' is not a number; write 1,2,4,8") from None
        found.append(Step(concurrency, rate, seconds, options.requests))
    return tuple(found)


def _targets(options: Options) -> tuple[Target, ...]:
    list_file = options.url_file
    if not options.urls and list_file is None:
        raise UsageError("no URL given: for example loadtop http://127.0.0.1/ (see loadtop --help)")
    file = options.post or options.put
    default = "POST" if options.post else "PUT" if options.put else "HEAD" if options.head else "GET"
    method = default if options.method is None else options.method
    headers, body = _headers(options), None if file is None else _read(file)
    targets = [Target.parse(url, method=method, headers=headers, body=body) for url in options.urls]
    if list_file is not None:
        for number, line in enumerate(_read(list_file).decode("utf-8-sig", errors="replace").splitlines(), 1):
            words = line.split()
            if words and not words[0].startswith("#"):
                targets.append(_listed(words, f"{list_file}, line {number}", method, headers, body))
    if not targets:
        raise UsageError(f"{list_file} contains no URL: write one per line")
    if options.content_type is None:
        return tuple(targets)
    if all(target.body is None for target in targets):
        raise UsageError("-T names the type of a body: give one with -p FILE, -u FILE or in the lines of --urls")
    header = ("Content-Type", options.content_type)
    check_header(*header)
    return tuple(
        target if target.body is None else replace(target, headers=(*target.headers, header)) for target in targets
    )


def _listed(words: list[str], place: str, method: str, headers: Headers, body: bytes | None) -> Target:
    """One line of a URL list: URL [WEIGHT [METHOD [BODYFILE]]]."""
    if len(words) > 4:
        raise UsageError(f"{place}: too many words; write URL [WEIGHT [METHOD [BODYFILE]]]")
    try:
        weight = float(words[1]) if len(words) > 1 else 1.0
    except ValueError:
        raise UsageError(f"{place}: the weight '{words[1]}' is not a number") from None
    if len(words) > 2:
        method = words[2]
    if len(words) > 3:
        body = _read(Path(words[3]))
    try:
        return Target.parse(words[0], method=method, headers=headers, body=body, weight=weight)
    except PlanError as error:
        raise UsageError(f"{place}: {error}") from None


def _proxy(options: Options) -> Proxy | None:
    if options.proxy is None:
        if options.proxy_auth is not None:
            raise UsageError("-P is for a proxy: name it with -X HOST:PORT")
        return None
    place = options.proxy
    if "@" in place:  # not repeated: it may hold a password
        raise UsageError("-X takes HOST:PORT alone: give the proxy's user and password with -P USER:PASSWORD")
    wrong = UsageError(f"-X '{place}' is not a proxy: write HOST:PORT, without http:// and path")
    if re.search(r"[/?#\s]", place):
        raise wrong
    try:
        origin = Target.parse(f"http://{place}").origin
    except PlanError:
        raise wrong from None
    credentials = None if options.proxy_auth is None else _credentials("-P", options.proxy_auth)
    return Proxy(origin, credentials)


def _headers(options: Options) -> Headers:
    headers: list[tuple[str, str]] = []
    for line in options.header:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"-H '{line}' is not a header: write it as 'Name: value'")
        headers.append((name.strip(), value.strip()))
    for cookie in options.cookie:
        if "=" not in cookie:
            raise UsageError(f"-C '{cookie}' is not a cookie: write it as NAME=VALUE")
    if options.cookie:
        headers.append(("Cookie", "; ".join(options.cookie)))
    if options.auth is not None:
        headers.append(("Authorization", _credentials("-A", options.auth)))
    return tuple(headers)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as source:
            data = source.read(LARGEST_FILE + 1)
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise FileError(f"cannot read {file}: it has no end, or more than {LARGEST_FILE >> 20} MB: give less")
    return data


def _credentials(option: str, text: str) -> str:
    user, colon, password = text.partition(":")
    if not colon:
        raise UsageError(f"{option} needs USER:PASSWORD")
    return basic_auth(user, password)


def _check_headers(options: Options) -> None:
    given = [(name.strip().lower(), value) for name, _, value in (line.partition(":") for line in options.header)]
    for header, option, value in (
        ("authorization", "-A", options.auth),
        ("content-type", "-T", options.content_type),
        ("proxy-authorization", "-P", options.proxy_auth),
    ):
        if value is not None and header in dict(given):
            raise PlanError(_CONTRADICTION, option=option, other=f"-H '{header.title()}: ...'")
    asked = ",".join(value for name, value in given if name == "connection")
    tokens = {token.strip().lower() for token in asked.split(",")}  # RFC 9110 section 7.6.1
    if options.keepalive and "close" in tokens:
        raise PlanError(_CONTRADICTION, option="-k", other="-H 'Connection: close'")
    if options.head and options.method not in (None, "HEAD"):
        text = "-i and -m {method} contradict each other: -i is -m HEAD; give one of them"
        raise PlanError(text, method=options.method)


def _check_framing(plan: Plan) -> None:
    """With a wrong length, the server waits for the rest of the body, or takes the rest for another request."""
    for target in plan.targets:
        size = 0 if target.body is None else len(target.body)
        lengths = [value for name, value in target.headers if name.lower() == "content-length"]
        if len(lengths) > 1:
            raise PlanError("-H 'Content-Length: ...' is given twice: leave it out, the length is sent anyway")
        if lengths and lengths[0] != str(size):
            given = f"-H 'Content-Length: {lengths[0]}'"
            if target.body is None:
                text = "{header} announces a body, and none is sent: give one with -p or -u, or leave it out"
                raise PlanError(text, header=given)
            text = "{header} contradicts the body of {size}: leave it out, the length is sent anyway"
            raise PlanError(text, header=given, size=plural(size, "{n} byte", "{n} bytes"))
        coding = next((value for name, value in target.headers if name.lower() == "transfer-encoding"), None)
        if coding is not None:
            text = (
                "-H 'Transfer-Encoding: {coding}' is not possible: bodies are sent unchanged, with their length; "
                "leave it out{body}"
            )
            advice = Message(", and give a body with -p or -u") if target.body is None else None
            raise PlanError(text, coding=coding, body=advice)


def _check_numbers(plan: Plan, *, stepped: bool) -> None:
    for step in plan.steps:
        if step.rate is None and step.requests is not None and (step.concurrency or 0) > step.requests:
            one = "-c {c} is more than -n {n}: raise -n or lower -c"
            several = "a step of {c} is more than -n {n}: raise -n or lower the step"
            raise PlanError(several if stepped else one, c=step.concurrency, n=step.requests)
    if all(step.rate is None for step in plan.steps):
        most = max(step.concurrency or 0 for step in plan.steps)
        if plan.workers > most:
            text = "--workers {workers} have only {connections} connection(s) to share: raise -c or lower it"
            raise PlanError(text, workers=plan.workers, connections=most)


def _check_addresses(plan: Plan) -> None:
    if plan.bind is None:
        return
    version = ipaddress.ip_address(plan.bind.partition("%")[0]).version
    for host in [target.host for target in plan.targets] if plan.proxy is None else [plan.proxy.origin.host]:
        try:
            other = ipaddress.ip_address(host.partition("%")[0]).version
        except ValueError:
            continue
        if other != version:
            text = "-B {address} is IPv{version}, {host} is IPv{other}: give an address of the same kind"
            raise PlanError(text, address=plan.bind, version=version, host=host, other=other)


def _check_tls(options: Options, plan: Plan) -> None:
    given = [
        option.name
        for option in options_of("run")
        if option.name in ("-f", "-Z", "-E", "-I", "--insecure") and option.given(options)
    ]
    if not given:
        return
    from loadtop.generator.tls import tls_context

    tls_context(plan)
    if options.user_plan is not None:
        return  # only the engine knows what a user's plan requests
    if all(target.scheme == "http" for target in plan.targets):
        one = "{options} is for TLS, and no URL here is https: write https://... or leave that out"
        several = "{options} are for TLS, and no URL here is https: write https://... or leave that out"
        raise PlanError(plural(len(given), one, several, options=", ".join(given)))
