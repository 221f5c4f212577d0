"""The load part of the command line: ab's letters and ours, and the plan that they make."""

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadtop.cli.exit_codes import UnreadableError, UsageError
from loadtop.cli.options.load_checks import check_together
from loadtop.generator.plan import Plan, PlanError, Proxy, Step, Target, TlsOptions, basic_auth, check_header

DEFAULT_TIME_S = 30.0
DEFAULT_STEP_S = 10.0
DEFAULT_CONCURRENCY = 10
LARGEST_FILE = 1 << 30
"""Bytes: each worker holds every body in memory."""


def add_load(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("load (ab's letters)")
    add = group.add_argument
    add("-n", "--requests", type=count, metavar="N", help="end after N requests")
    add("-c", "--concurrency", type=count, metavar="N", help="keep N requests in flight (default 10; with -n or -t 1)")
    add("-t", "--time", type=positive, metavar="SECONDS", help="end after that time; no cap on requests")
    add("-s", "--timeout", type=positive, default=30.0, metavar="SECONDS", help="give a request up (default 30)")
    add("-k", "--keepalive", action="store_true", help="reuse connections")
    add("-p", "--post", type=Path, metavar="FILE", help="POST the file's content")
    add("-u", "--put", type=Path, metavar="FILE", help="PUT the file's content")
    add("-T", "--content-type", metavar="TYPE", help="content type of the body (default text/plain)")
    add("-m", "--method", metavar="NAME", help="request method")
    add("-i", "--head", action="store_true", help="HEAD instead of GET")
    add("-H", "--header", action="append", default=[], metavar="LINE", help="further header, repeatable")
    add("-C", "--cookie", action="append", default=[], metavar="NAME=VALUE", help="cookie, repeatable")
    add("-A", "--auth", metavar="USER:PASSWORD", help="Basic authentication")
    add("-X", "--proxy", metavar="HOST:PORT", help="HTTP proxy")
    add("-P", "--proxy-auth", metavar="USER:PASSWORD", help="Basic authentication at the proxy")
    add("-l", "--any-length", action="store_true", help="bodies may differ in length")
    add("-r", "--keep-going", action="store_true", help="do not stop when the server stops answering")
    add("--warmup", type=not_negative, default=0.0, metavar="S", help="seconds left out of the statistics")
    add("--workers", type=workers, default=1, metavar="N", help="generator processes (default 1), or auto: as it takes")
    add(
        "-v", "--verbosity", type=level, default=0, metavar="LEVEL", help="2 tells heads, 3 the status of each response"
    )
    add("--rate", type=positive, metavar="R", help="start R requests/s whatever the server does (open model)")
    add("--steps", metavar="1,2,4", help="one step after another: connections, or requests/s with --rate")
    add("--step-time", type=positive, metavar="S", help="seconds of each step (default 10, or -n requests)")
    add("--urls", dest="url_file", type=Path, metavar="FILE", help="one URL a line: URL [WEIGHT [METHOD [BODYFILE]]]")
    add("-b", "--buffer", type=count, metavar="BYTES", help="socket buffers")
    add("-B", "--bind", metavar="ADDRESS", help="local address to connect from")
    add("-f", "--protocol", metavar="NAME", help="TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL")
    add("-Z", "--ciphers", metavar="SUITE", help="TLS cipher suites")
    add("-E", "--certificate", metavar="FILE", help="client certificate and key (PEM)")
    add("-I", "--no-sni", action="store_true", help="send no server name in the TLS handshake")
    add("--insecure", action="store_true", help="accept any TLS certificate")


def build_plan(arguments: Any) -> Plan:
    """The plan that the options make. Raises UsageError; reads bodies and URL lists from their files."""
    if arguments.certificate is not None:
        _read(Path(arguments.certificate))
    try:
        plan = Plan(
            targets=_targets(arguments),
            steps=_steps(arguments),
            keepalive=arguments.keepalive,
            timeout_s=arguments.timeout,
            any_length=arguments.any_length,
            keep_going=arguments.keep_going,
            verify_tls=not arguments.insecure,
            warmup_s=arguments.warmup,
            workers=arguments.workers or 1,
            more_workers=arguments.workers == 0,
            verbosity=arguments.verbosity,
            proxy=_proxy(arguments),
            bind=arguments.bind,
            socket_buffer=arguments.buffer,
            tls=TlsOptions(arguments.protocol, arguments.ciphers, arguments.certificate, not arguments.no_sni),
        )
        check_together(arguments, plan)
    except PlanError as error:
        raise UsageError(str(error)) from None
    return plan


def _steps(arguments: Any) -> tuple[Step, ...]:
    rate: float | None = arguments.rate
    concurrency, requests, seconds = arguments.concurrency, arguments.requests, arguments.time
    if arguments.steps is not None:
        return _sweep(arguments)
    if arguments.step_time is not None:
        raise UsageError("--step-time is the time of each step: give --steps 1,2,4,... with it, or use -t")
    if requests is None and seconds is None:
        # A bare URL gets a load that shows something; with -c, -n or -t the rest is ab's.
        seconds = DEFAULT_TIME_S
        concurrency = concurrency or (None if rate is not None else DEFAULT_CONCURRENCY)
    if rate is None:
        concurrency = concurrency or 1
    return (Step(concurrency=concurrency, rate=rate, duration_s=seconds, requests=requests),)


def _sweep(arguments: Any) -> tuple[Step, ...]:
    if arguments.concurrency is not None or arguments.time is not None:
        given = "-c" if arguments.concurrency is not None else "-t"
        raise UsageError(f"--steps and {given} contradict each other: the steps say how many, --step-time how long")
    requests = arguments.requests
    seconds = arguments.step_time or (None if requests is not None else DEFAULT_STEP_S)
    steps: list[Step] = []
    for word in arguments.steps.split(","):
        try:
            # With --rate the steps are rates.
            level = float(word) if arguments.rate is not None else int(word)
        except ValueError:
            raise UsageError(f"--steps '{arguments.steps}': '{word}' is no number; write 1,2,4,8") from None
        if arguments.rate is not None:
            steps.append(Step(rate=level, duration_s=seconds, requests=requests))
        else:
            steps.append(Step(concurrency=int(level), duration_s=seconds, requests=requests))
    return tuple(steps)


def _targets(arguments: Any) -> tuple[Target, ...]:
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
        raise UsageError(f"{arguments.url_file} holds no URL: write one a line")
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


def _listed(
    words: list[str], place: str, method: str, headers: tuple[tuple[str, str], ...], body: bytes | None
) -> Target:
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


def _proxy(arguments: Any) -> Proxy | None:
    if arguments.proxy is None:
        if arguments.proxy_auth is not None:
            raise UsageError("-P is for a proxy: name it with -X HOST:PORT")
        return None
    place: str = arguments.proxy
    if "@" in place:  # not repeated: it may hold a password
        raise UsageError("-X takes HOST:PORT alone: give the proxy's user and password with -P USER:PASSWORD")
    wrong = UsageError(f"-X '{place}' is no proxy: write HOST:PORT, without http:// and path")
    if re.search(r"[/?#\s]", place):
        raise wrong
    try:
        origin = Target.parse(f"http://{place}").origin
    except PlanError:
        raise wrong from None
    credentials = None if arguments.proxy_auth is None else _credentials("-P", arguments.proxy_auth)
    return Proxy(origin.host, origin.port, credentials)


def _method_and_body(arguments: Any) -> tuple[str, bytes | None]:
    given = [name for name in ("post", "put", "head") if getattr(arguments, name)]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} contradict each other: give one of them")
    file: Path | None = arguments.post or arguments.put
    body = None
    if file is not None:
        body = _read(file)
    default = {"post": "POST", "put": "PUT", "head": "HEAD"}[given[0]] if given else "GET"
    return default if arguments.method is None else arguments.method, body


def _headers(arguments: Any) -> tuple[tuple[str, str], ...]:
    headers: list[tuple[str, str]] = []
    for line in arguments.header:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"-H '{line}' is no header: write it as 'Name: value'")
        headers.append((name.strip(), value.strip()))
    if arguments.cookie:
        for cookie in arguments.cookie:
            if "=" not in cookie:
                raise UsageError(f"-C '{cookie}' is no cookie: write it as NAME=VALUE")
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


def count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is too few: give 1 or more")
    return number


def workers(text: str) -> int:
    """A number of processes; 0 stands for ``auto``."""
    return 0 if text == "auto" else count(text)


def level(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no level: give 2 for heads, 3 for the status of each response")
    return int(text)


_TOO_MUCH = 1e7
SHORTEST_INTERVAL_S = 0.1
"""Below that the kernel's clock ticks, of 10 ms, are too coarse for shares of the processor, and watching costs more
than it tells."""


def interval(text: str) -> float:
    """The seconds between samples."""
    seconds = positive(text)
    if seconds < SHORTEST_INTERVAL_S:
        raise argparse.ArgumentTypeError(f"{text} s is too short to measure in: give {SHORTEST_INTERVAL_S:g} or more")
    return seconds


def positive(text: str) -> float:
    number = _number(text)
    if not 0 < number < _TOO_MUCH:
        limits = "below 10 million" if number > 0 else "above 0"
        raise argparse.ArgumentTypeError(f"{text} is out of range: give a number {limits}")
    return number


def not_negative(text: str) -> float:
    number = _number(text)
    if not 0 <= number < _TOO_MUCH:
        limits = "below 10 million" if number > 0 else "of 0 or more"
        raise argparse.ArgumentTypeError(f"{text} is out of range: give a number {limits}")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
