"""The load of the command line, as a plan for the generator."""

import ipaddress
import re
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from loadtop.cli.exit_codes import UnreadableError, UsageError
from loadtop.cli.options.table import DEFAULT_CONCURRENCY, DEFAULT_STEP_S, DEFAULT_TIME_S, options_of
from loadtop.generator.plan import Plan, PlanError, Proxy, Step, Target, TlsOptions, basic_auth, check_header
from loadtop.i18n import Message, Translatable, plural

_CONTRADICTION: Translatable = "{option} and {other} contradict each other: give one of them"

LARGEST_FILE = 1 << 30
"""Bytes: each worker holds every body in memory."""

Headers = tuple[tuple[str, str], ...]


def build_plan(arguments: Namespace, steps: tuple[Step, ...] = ()) -> Plan:
    """The plan that the options describe; ``steps`` replace theirs. Raises UsageError; reads bodies and URL lists."""
    if arguments.certificate is not None:
        _read(Path(arguments.certificate))
    try:
        plan = Plan(
            targets=_targets(arguments),
            steps=steps or _steps(arguments),
            keepalive=arguments.keepalive,
            timeout_s=arguments.timeout,
            any_length=arguments.any_length,
            keep_going=arguments.keep_going,
            verify_tls=not arguments.insecure,
            warmup_s=0.0 if steps else arguments.warmup,
            workers=arguments.workers or 1,
            more_workers=arguments.workers == 0,
            verbosity=arguments.verbosity,
            proxy=_proxy(arguments),
            bind=arguments.bind,
            socket_buffer=arguments.buffer,
            tls=TlsOptions(arguments.protocol, arguments.ciphers, arguments.certificate, not arguments.no_sni),
        )
        _check_headers(arguments)
        _check_framing(plan)
        _check_numbers(arguments, plan)
        _check_addresses(plan)
        _check_tls(arguments, plan)
    except PlanError as error:
        raise UsageError(error.message) from None
    return plan


def _steps(arguments: Namespace) -> tuple[Step, ...]:
    rate: float | None = arguments.rate
    concurrency, requests, seconds = arguments.concurrency, arguments.requests, arguments.time
    if arguments.steps is not None:
        return _several_steps(arguments)
    if arguments.step_time is not None:
        raise UsageError("--step-time is the time of each step: give --steps 1,2,4,... with it, or use -t")
    if requests is None and seconds is None:
        # A bare URL gets a load that shows something; with -c, -n or -t the rest is ab's.
        seconds = DEFAULT_TIME_S
        concurrency = concurrency or (None if rate is not None else DEFAULT_CONCURRENCY)
    if rate is None:
        concurrency = concurrency or 1
    return (Step(concurrency=concurrency, rate=rate, duration_s=seconds, requests=requests),)


def _several_steps(arguments: Namespace) -> tuple[Step, ...]:
    if arguments.concurrency is not None or arguments.time is not None:
        given = "-c" if arguments.concurrency is not None else "-t"
        raise UsageError(f"--steps and {given} contradict each other: the steps say how many, --step-time how long")
    requests = arguments.requests
    seconds = arguments.step_time or (None if requests is not None else DEFAULT_STEP_S)
    steps: list[Step] = []
    for word in arguments.steps.split(","):
        try:
            concurrency, rate = (int(word), None) if arguments.rate is None else (None, float(word))
        except ValueError:
            raise UsageError(f"--steps '{arguments.steps}': '{word}' is not a number; write 1,2,4,8") from None
        steps.append(Step(concurrency=concurrency, rate=rate, duration_s=seconds, requests=requests))
    return tuple(steps)


def _targets(arguments: Namespace) -> tuple[Target, ...]:
    if not arguments.urls and arguments.url_file is None:
        raise UsageError("no URL given: for example loadtop http://127.0.0.1/ (see loadtop --help)")
    method, body = _method_and_body(arguments)
    headers = _headers(arguments)
    targets = [Target.parse(url, method=method, headers=headers, body=body) for url in arguments.urls]
    if arguments.url_file is not None:
        for number, line in enumerate(_read(arguments.url_file).decode("utf-8-sig", errors="replace").splitlines(), 1):
            words = line.split()
            if words and not words[0].startswith("#"):
                place = f"{arguments.url_file}, line {number}"
                targets.append(_listed(words, place, method, headers, body))
    if not targets:
        raise UsageError(f"{arguments.url_file} contains no URL: write one per line")
    return tuple(targets) if arguments.content_type is None else _typed(targets, arguments.content_type)


def _typed(targets: list[Target], content_type: str) -> tuple[Target, ...]:
    """The targets with -T's header, as far as they have a body."""
    if all(target.body is None for target in targets):
        raise UsageError("-T names the type of a body: give one with -p FILE, -u FILE or in the lines of --urls")
    check_header("Content-Type", content_type)
    header = ("Content-Type", content_type)
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
    try:
        return Target.parse(
            words[0],
            method=words[2] if len(words) > 2 else method,
            headers=headers,
            body=_read(Path(words[3])) if len(words) > 3 else body,
            weight=weight,
        )
    except PlanError as error:
        raise UsageError(f"{place}: {error}") from None


def _proxy(arguments: Namespace) -> Proxy | None:
    if arguments.proxy is None:
        if arguments.proxy_auth is not None:
            raise UsageError("-P is for a proxy: name it with -X HOST:PORT")
        return None
    place: str = arguments.proxy
    if "@" in place:  # not repeated: it may hold a password
        raise UsageError("-X takes HOST:PORT alone: give the proxy's user and password with -P USER:PASSWORD")
    wrong = UsageError(f"-X '{place}' is not a proxy: write HOST:PORT, without http:// and path")
    if re.search(r"[/?#\s]", place):
        raise wrong
    try:
        origin = Target.parse(f"http://{place}").origin
    except PlanError:
        raise wrong from None
    credentials = None if arguments.proxy_auth is None else _credentials("-P", arguments.proxy_auth)
    return Proxy(origin.host, origin.port, credentials)


def _method_and_body(arguments: Namespace) -> tuple[str, bytes | None]:
    file: Path | None = arguments.post or arguments.put
    default = "POST" if arguments.post else "PUT" if arguments.put else "HEAD" if arguments.head else "GET"
    return default if arguments.method is None else arguments.method, None if file is None else _read(file)


def _headers(arguments: Namespace) -> Headers:
    headers: list[tuple[str, str]] = []
    for line in arguments.header:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"-H '{line}' is not a header: write it as 'Name: value'")
        headers.append((name.strip(), value.strip()))
    for cookie in arguments.cookie:
        if "=" not in cookie:
            raise UsageError(f"-C '{cookie}' is not a cookie: write it as NAME=VALUE")
    if arguments.cookie:
        headers.append(("Cookie", "; ".join(arguments.cookie)))
    if arguments.auth is not None:
        headers.append(("Authorization", _credentials("-A", arguments.auth)))
    return tuple(headers)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as source:
            data = source.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UnreadableError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise UnreadableError(f"cannot read {file}: it has no end, or more than {LARGEST_FILE >> 20} MB: give less")
    return data


def _credentials(option: str, text: str) -> str:
    user, colon, password = text.partition(":")
    if not colon:
        raise UsageError(f"{option} needs USER:PASSWORD")
    return basic_auth(user, password)


def _check_headers(arguments: Namespace) -> None:
    given = {_name(line) for line in arguments.header}
    for header, option, value in (
        ("authorization", "-A", arguments.auth),
        ("content-type", "-T", arguments.content_type),
        ("proxy-authorization", "-P", arguments.proxy_auth),
    ):
        if value is not None and header in given:
            raise PlanError(_CONTRADICTION, option=option, other=f"-H '{header.title()}: ...'")
    asked = [line.partition(":")[2] for line in arguments.header if _name(line) == "connection"]
    tokens = {token.strip().lower() for value in asked for token in value.split(",")}  # RFC 9110 section 7.6.1
    if arguments.keepalive and "close" in tokens:
        raise PlanError(_CONTRADICTION, option="-k", other="-H 'Connection: close'")
    if arguments.head and arguments.method not in (None, "HEAD"):
        raise PlanError(
            "-i and -m {method} contradict each other: -i is -m HEAD; give one of them", method=arguments.method
        )


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
            raise PlanError(
                "-H 'Transfer-Encoding: {coding}' is not possible: bodies are sent unchanged, with their length; "
                "leave it out{body}",
                coding=coding,
                body=None if target.body is not None else Message(", and give a body with -p or -u"),
            )


def _name(line: str) -> str:
    return line.partition(":")[0].strip().lower()


def _check_numbers(arguments: Namespace, plan: Plan) -> None:
    for step in plan.steps:
        if step.rate is None and step.requests is not None and (step.concurrency or 0) > step.requests:
            one = "-c {c} is more than -n {n}: raise -n or lower -c"
            several = "a step of {c} is more than -n {n}: raise -n or lower the step"
            stepped = getattr(arguments, "steps", None) is not None
            raise PlanError(several if stepped else one, c=step.concurrency, n=step.requests)
    if all(step.rate is None for step in plan.steps):
        most = max(step.concurrency or 0 for step in plan.steps)
        if plan.workers > most:
            raise PlanError(
                "--workers {workers} have only {connections} connection(s) to share: raise -c or lower it",
                workers=plan.workers,
                connections=most,
            )


def _check_addresses(plan: Plan) -> None:
    if plan.bind is None:
        return
    version = ipaddress.ip_address(plan.bind.partition("%")[0]).version
    for host in [target.host for target in plan.targets] if plan.proxy is None else [plan.proxy.host]:
        try:
            other = ipaddress.ip_address(host.partition("%")[0]).version
        except ValueError:
            continue
        if other != version:
            raise PlanError(
                "-B {address} is IPv{version}, {host} is IPv{other}: give an address of the same kind",
                address=plan.bind,
                version=version,
                host=host,
                other=other,
            )


def _check_tls(arguments: Namespace, plan: Plan) -> None:
    given = [
        option.name
        for option in options_of("run")
        if option.name in ("-f", "-Z", "-E", "-I", "--insecure") and option.given(arguments)
    ]
    if not given:
        return
    from loadtop.generator.tls import tls_context

    tls_context(plan)
    if arguments.plan is not None:
        return  # only the engine knows what a user's plan requests
    if all(target.scheme == "http" for target in plan.targets):
        one = "{options} is for TLS, and no URL here is https: write https://... or leave that out"
        several = "{options} are for TLS, and no URL here is https: write https://... or leave that out"
        raise PlanError(plural(len(given), one, several, options=", ".join(given)))
