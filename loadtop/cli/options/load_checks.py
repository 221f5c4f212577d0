"""Load options that are right by themselves and wrong together: found before anything is sent."""

import ipaddress
from typing import Any

from loadtop.generator.plan import Plan, PlanError


def check_together(arguments: Any, plan: Plan) -> None:
    """Raise :class:`PlanError` where options contradict each other; the message names them and the fix."""
    _check_headers(arguments)
    _check_framing(plan)
    _check_numbers(arguments, plan)
    _check_addresses(plan)
    _check_tls(arguments, plan)


def _check_headers(arguments: Any) -> None:
    given = {_name(line) for line in arguments.header}
    for header, option, value in (
        ("authorization", "-A", arguments.auth),
        ("content-type", "-T", arguments.content_type),
        ("proxy-authorization", "-P", arguments.proxy_auth),
    ):
        if value is not None and header in given:
            raise PlanError(f"{option} and -H '{header.title()}: ...' contradict each other: give one of them")
    asked = [line.partition(":")[2] for line in arguments.header if _name(line) == "connection"]
    tokens = {token.strip().lower() for value in asked for token in value.split(",")}  # RFC 9110 section 7.6.1
    if arguments.keepalive and "close" in tokens:
        raise PlanError("-k and -H 'Connection: close' contradict each other: give one of them")
    if arguments.head and arguments.method not in (None, "HEAD"):
        raise PlanError(f"-i and -m {arguments.method} contradict each other: -i is -m HEAD; give one of them")


def _check_framing(plan: Plan) -> None:
    """A header that says another length than the body has leaves the server waiting for the rest, or takes the rest for
    a request of its own."""
    for target in plan.targets:
        size = 0 if target.body is None else len(target.body)
        lengths = [value for name, value in target.headers if name.lower() == "content-length"]
        if len(lengths) > 1:
            raise PlanError("-H 'Content-Length: ...' is given twice: leave it out, a body's length is told anyway")
        if lengths and lengths[0] != str(size):
            given = f"-H 'Content-Length: {lengths[0]}'"
            if target.body is None:
                raise PlanError(f"{given} tells of a body, and none is sent: give it with -p or -u, or leave this out")
            long = "1 byte" if size == 1 else f"{size} bytes"
            raise PlanError(f"{given} contradicts the body of {long}: leave it out, the length is told anyway")
        coding = next((value for name, value in target.headers if name.lower() == "transfer-encoding"), None)
        if coding is not None:
            raise PlanError(
                f"-H 'Transfer-Encoding: {coding}' is not possible: bodies are sent as they are, with their length; "
                "leave it out" + ("" if target.body is not None else ", and give a body with -p or -u")
            )


def _name(line: str) -> str:
    return line.partition(":")[0].strip().lower()


def _check_numbers(arguments: Any, plan: Plan) -> None:
    for step in plan.steps:
        if step.rate is None and step.requests is not None and (step.concurrency or 0) > step.requests:
            given, lower = ("-c", "-c") if arguments.steps is None else ("a step of", "the step")
            raise PlanError(f"{given} {step.concurrency} is more than -n {step.requests}: raise -n or lower {lower}")
    if all(step.rate is None for step in plan.steps):
        most = max(step.concurrency or 0 for step in plan.steps)
        if plan.workers > most:
            raise PlanError(f"--workers {plan.workers} have only {most} connection(s) to share: raise -c or lower it")


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
            raise PlanError(f"-B {plan.bind} is IPv{version}, {host} is IPv{other}: give an address of the same kind")


_TLS = {"-f": "protocol", "-Z": "ciphers", "-E": "certificate", "-I": "no_sni", "--insecure": "insecure"}


def _check_tls(arguments: Any, plan: Plan) -> None:
    given = [option for option, name in _TLS.items() if getattr(arguments, name)]
    if not given:
        return
    from loadtop.generator.tls import tls_context

    tls_context(plan)
    if getattr(arguments, "plan", None) is not None:
        return  # what is requested is said by a plan of the user's own
    if all(target.scheme == "http" for target in plan.targets):
        what = f"{given[0]} is" if len(given) == 1 else f"{', '.join(given)} are"
        raise PlanError(f"{what} for TLS, and no URL here is https: write https://... or leave that out")
