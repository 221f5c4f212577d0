"""Load options that are right by themselves and wrong together: found before anything is sent."""

import ipaddress
from typing import Any

from loadtop.generator.plan import Plan, PlanError
from loadtop.i18n import Message, Translatable, plural

_CONTRADICTION: Translatable = "{option} and {other} contradict each other: give one of them"


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
    """A header that says another length than the body has leaves the server waiting for the rest, or takes the rest for
    a request of its own."""
    for target in plan.targets:
        size = 0 if target.body is None else len(target.body)
        lengths = [value for name, value in target.headers if name.lower() == "content-length"]
        if len(lengths) > 1:
            raise PlanError("-H 'Content-Length: ...' is given twice: leave it out, a body's length is always sent")
        if lengths and lengths[0] != str(size):
            given = f"-H 'Content-Length: {lengths[0]}'"
            if target.body is None:
                raise PlanError(
                    "{header} announces a body, and none is sent: give it with -p or -u, or leave it out",
                    header=given,
                )
            raise PlanError(
                "{header} contradicts the body of {size}: leave it out, a body's length is always sent",
                header=given,
                size=plural(size, "{n} byte", "{n} bytes"),
            )
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


def _check_numbers(arguments: Any, plan: Plan) -> None:
    for step in plan.steps:
        if step.rate is None and step.requests is not None and (step.concurrency or 0) > step.requests:
            if arguments.steps is None:
                raise PlanError("-c {c} is more than -n {n}: raise -n or lower -c", c=step.concurrency, n=step.requests)
            raise PlanError(
                "a step of {c} is more than -n {n}: raise -n or lower the step", c=step.concurrency, n=step.requests
            )
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
        raise PlanError(
            plural(
                len(given),
                "{options} is for TLS, and no URL here is https: write https://... or leave that out",
                "{options} are for TLS, and no URL here is https: write https://... or leave that out",
                options=", ".join(given),
            )
        )
