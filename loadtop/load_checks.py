"""Load options that are right by themselves and wrong together: found before anything is sent."""

import ipaddress
from typing import Any

from loadtop.load.plan import Plan, PlanError


def check_together(arguments: Any, plan: Plan) -> None:
    """Raise :class:`PlanError` where options contradict each other; the message names them and the fix."""
    _check_headers(arguments)
    _check_numbers(arguments, plan)
    _check_addresses(plan)
    if arguments.protocol or arguments.ciphers or arguments.certificate:
        from loadtop.load.tls import tls_context

        tls_context(plan)


def _check_headers(arguments: Any) -> None:
    given = {_name(line) for line in arguments.header}
    for header, option, value in (
        ("authorization", "-A", arguments.auth),
        ("content-type", "-T", arguments.content_type),
        ("proxy-authorization", "-P", arguments.proxy_auth),
    ):
        if value is not None and header in given:
            raise PlanError(f"{option} and -H '{header.title()}: ...' contradict each other: give one of them")
    values = [line.partition(":")[2].strip().lower() for line in arguments.header if _name(line) == "connection"]
    if arguments.keepalive and "close" in values:
        raise PlanError("-k and -H 'Connection: close' contradict each other: give one of them")
    if arguments.head and arguments.method not in (None, "HEAD"):
        raise PlanError(f"-i and -m {arguments.method} contradict each other: -i is -m HEAD; give one of them")


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
