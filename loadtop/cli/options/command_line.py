"""The options of a command line, checked together and completed by what follows from them. Nothing is started here."""

import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from loadtop.cli.exit_codes import FileError, UsageError
from loadtop.cli.options import table
from loadtop.cli.options.parser import read
from loadtop.cli.options.secret_file import lines_of_file, value_of
from loadtop.cli.options.table import AB_REPORTS, CONNECTIONS, Options, options_of
from loadtop.generator.plan import Plan, PlanError, Proxy, Step, Target, TlsOptions, basic_auth, check_header
from loadtop.i18n import Message, Translatable, plural
from loadtop.model import MAX_HOSTS
from loadtop.model.places import HERE, LOCAL
from loadtop.servers.status_options import STATUS_OPTIONS, StatusOption

SHORTEST_STEP = 3  # intervals of the shortest step to judge: four samples for the steady state, and one before them

_CONTRADICTION: Translatable = "{option} conflicts with {other}. Use one of them."

LARGEST_FILE = 1 << 30  # bytes: each worker holds every body in memory

_HEADER_LINE = re.compile(r"[\w!#$%&'*+.^`|~-]{1,100}\s?:")

Headers = tuple[tuple[str, str], ...]


def parse(words: Sequence[str]) -> Options:
    """Understand the words of a command that runs a test or examines hosts. Raises UsageError; raises SystemExit for
    ``--help`` and ``--version``."""
    return checked(read(words))


def checked(options: Options) -> Options:
    """The options of such a command. Raises UsageError; reads bodies, URL lists and plans."""
    _complete_hosts(options)
    try:
        if options.command in ("run", "tune"):
            _complete_load(options)
    except PlanError as error:
        raise UsageError(error.message) from None
    if len(options.hosts) > MAX_HOSTS:
        raise UsageError(f"too many hosts ({len(options.hosts)}): one test can watch at most {MAX_HOSTS}")
    if options.command == "watch" and not options.program:
        given = next((option.name for option in AB_REPORTS.taken_by("watch") if option.given(options)), None)
        if given is not None:
            raise UsageError(f"{given} needs a load. Leave it out, or add a command after --.")
    if options.command != "doctor":
        _check_conditions(options)
        _complete_html_table(options)
    options.headless = options.headless or options.verbosity >= 2
    return options


def _complete_hosts(options: Options) -> None:
    names = [name for name, _ in options.hosts]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise UsageError(f"--host: duplicate name {name}")
    generates = options.command not in ("watch", "doctor") or bool(options.program)
    if options.hosts and generates and all(place not in HERE for _, place in options.hosts):
        own = next(name for name in (LOCAL, "generator", "this-machine") if name not in names)
        options.hosts = [*options.hosts, (own, LOCAL)]
    options.hosts = options.hosts or [(LOCAL, LOCAL)]
    names = [name for name, _ in options.hosts]
    for name, _ in options.links:
        if name and name not in names:
            raise UsageError(f"--link: unknown host {name}; hosts are {', '.join(names)}")
    options.status_urls = {name: {page.name: [] for page in STATUS_OPTIONS} for name in names}
    for page in STATUS_OPTIONS:
        for text in getattr(options, page.name):
            host, url = _status_url(page, text, names)
            options.status_urls[host][page.name].append(url)


def _status_url(page: StatusOption, text: str, hosts: Sequence[str]) -> tuple[str, str]:
    name, _, url = text.partition(":")
    if name in hosts and re.fullmatch(page.pattern, url):
        return name, url
    if not re.fullmatch(page.pattern, text):
        raise UsageError(f"--{page.name} '{text}': write [NAME:]{page.forms}; hosts are {', '.join(hosts)}")
    return hosts[0], text


def _complete_load(options: Options) -> None:
    file = options.user_plan
    if options.engine == "jmeter" and file is not None and not options.urls and options.url_file is None:
        options.urls = [_url_of_plan(options, file)]
    _check_engine(options)
    _watch_generators(options)
    _read_secrets(options)
    if options.command == "tune":
        _set_bounds(options)
    options.plan = _plan(options)


def _read_secrets(options: Options) -> None:
    """Replace the values ``@FILE`` of the options that may hold secrets by what is in the files."""
    options.header = [line for word in options.header for line in _header_lines(word)]
    options.cookie = [value_of("-C", word) for word in options.cookie]
    if options.auth is not None:
        options.auth = value_of("-A", options.auth)
    if options.proxy_auth is not None:
        options.proxy_auth = value_of("-P", options.proxy_auth)


def _header_lines(word: str) -> list[str]:
    lines = lines_of_file("-H", word)
    if lines is None:
        return [word]
    wrong = next((number for number, line in enumerate(lines, 1) if not _HEADER_LINE.match(line)), None)
    if wrong is not None:  # not repeated: it may be a secret
        raise UsageError(f"-H {word}: entry {wrong} of the file is not a header: write it as 'Name: value'")
    return lines


def _check_engine(options: Options) -> None:
    """Raise UsageError for what the engine cannot do; read the user's plan and check its syntax."""
    name = options.engine
    for option in options_of("run"):
        if name in option.refused and option.given(options):
            text: Translatable = "{option} does not work with --engine {engine}: {advice}"
            raise UsageError(Message(text, option=option.name, engine=name, advice=Message(option.refused[name])))
    if name == "builtin":
        return
    if not options.generators and not options.servers:
        options.generators = [(LOCAL, LOCAL)]
    names = [each for each, _ in options.generators]
    if len(set(names)) < len(names):
        raise UsageError(f"--generator: duplicate name in {', '.join(names)}")
    file = options.user_plan
    if file is None:
        return
    text = _read_plan(options, file)
    if name == "locust":
        try:
            compile(text, str(file), "exec")
        except (SyntaxError, ValueError) as error:
            place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            raise UsageError(f"the plan {file}{place} is not Python: {getattr(error, 'msg', error)}") from None
        options.locustfile = text


def _url_of_plan(options: Options, file: Path) -> str:
    """The server that a user's plan for JMeter names."""
    from loadtop.engines.jmeter.plan import read_user_plan

    _read_plan(options, file)
    url = read_user_plan(file).url()
    if url is None:
        raise UsageError(f"the plan {file} uses variables for its server. Add that server's URL to the command line.")
    return url


def _read_plan(options: Options, file: Path) -> str:
    """The user's plan. Raises UsageError for options that the plan replaces."""
    suffix = ".py" if options.engine == "locust" else ".jmx"
    if file.suffix != suffix:
        raise UsageError(f"--plan {file}: --engine {options.engine} needs a FILE{suffix}")
    for option in options_of("run"):
        if options.engine in option.own_plan and option.given(options):
            raise UsageError(f"{option.name} has no effect with --plan: {file} defines the requests. Leave it out.")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read the plan {file}: {getattr(error, 'strerror', None) or error}") from None


def _watch_generators(options: Options) -> None:
    """Watch the hosts that generate load for another engine beside those that are given."""
    known = dict(options.hosts)
    names = {place: name for name, place in options.hosts}
    for name, place in options.generators:
        if known.get(name, place) != place:
            raise UsageError(f"--generator and --host both use the name {name}. Rename one of them.")
        if place not in names:
            known[name] = place
    options.hosts = list(known.items())
    options.load_hosts = frozenset(names.get(place, name) for name, place in options.generators)


def _set_bounds(options: Options) -> None:
    """The bounds of ``tune``. Raises UsageError if they conflict."""
    from loadtop.analysis.tune.controller import StepSearch, TimeLimits

    most = options.concurrency or table.TUNE_CONNECTIONS
    if options.first > most:
        raise UsageError(f"--from {options.first} is above -c {most}: raise -c or lower --from")
    if options.finer > 50:
        raise UsageError(f"--finer {options.finer} is out of range: use 0 to 50")
    step_s = options.step_time or table.TUNE_STEP_S
    most_step_s = options.most_step_time or 4 * step_s
    if most_step_s < step_s:
        raise UsageError(f"--most-step-time {most_step_s:g} is below --step-time {step_s:g}: raise it")
    shortest_s = SHORTEST_STEP * options.interval
    if most_step_s < shortest_s:
        raise UsageError(f"--most-step-time {most_step_s:g} is too short: use {shortest_s:g} or more")
    total_s = options.time or table.TUNE_TOTAL_S
    if total_s < 2 * step_s:
        raise UsageError(f"-t {total_s:g} is too short for steps of {step_s:g} s: raise it or lower --step-time")
    options.search = StepSearch(options.first, most, options.finer)
    options.limits = TimeLimits(step_s, most_step_s, total_s)


def _check_conditions(options: Options) -> None:
    hosts = [name for name, _ in options.hosts]
    for condition in options.fail_if:
        if condition.host is not None and condition.host not in hosts:
            raise UsageError(
                f"--fail-if '{condition.text}': no host is called {condition.host}; hosts are {', '.join(hosts)}"
            )
        if condition.beyond is not None and options.baseline is None:
            raise UsageError(
                f"--fail-if '{condition.text}' needs a recording to compare with: add --baseline SESSION "
                "(loadtop sessions lists them)"
            )


def _complete_html_table(options: Options) -> None:
    """The attributes of the elements; each of them switches the table on, as -w does."""
    whole, row, cell = options.table_attributes, options.tr_attributes, options.td_attributes
    if options.as_html or (whole, row, cell) != (None, None, None):
        if options.ab:
            raise UsageError("--ab conflicts with -w: both print ab's report. Use one of them.")
        options.html_table = (whole or "", row or "", "bgcolor=white" if cell is None else cell)


def _plan(options: Options) -> Plan:
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
        traceparent=options.traceparent,
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
        raise UsageError("--step-time needs --steps 1,2,4,...; to limit the whole test, use -t")
    concurrency, seconds = options.concurrency, options.time
    if options.requests is None and seconds is None:
        # A bare URL gets a load that shows something; with -c, -n or -t the rest is ab's.
        seconds = table.DEFAULT_TIME_S
        concurrency = concurrency or (None if options.rate is not None else table.DEFAULT_CONCURRENCY)
    if options.rate is None:
        concurrency = concurrency or 1
    return (Step(concurrency, options.rate, seconds, options.requests),)


def _several_steps(options: Options, steps: str) -> tuple[Step, ...]:
    if options.concurrency is not None or options.time is not None:
        given = "-c" if options.concurrency is not None else "-t"
        raise UsageError(f"--steps conflicts with {given}: --steps sets the load, --step-time the length of each step")
    seconds = options.step_time or (None if options.requests is not None else table.DEFAULT_STEP_S)
    found: list[Step] = []
    for word in steps.split(","):
        try:
            concurrency, rate = (int(word), None) if options.rate is None else (None, float(word))
        except ValueError:
            number = "a whole number" if options.rate is None else "a number"
            raise UsageError(f"--steps '{steps}': '{word}' is not {number}; write 1,2,4,8") from None
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
        raise UsageError("-T needs a body: add -p FILE or -u FILE, or a BODYFILE to the lines of the --urls file")
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
            raise UsageError("-P needs a proxy: add -X HOST:PORT")
        return None
    place = options.proxy
    if "@" in place:  # not repeated: it may hold a password
        raise UsageError("-X takes only HOST:PORT: give the proxy's user and password with -P USER:PASSWORD")
    wrong = UsageError(f"-X '{place}' is not a proxy: write HOST:PORT, without http:// or a path")
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
            raise UsageError("-C must be NAME=VALUE, or @FILE if the file contains NAME=VALUE")
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
        raise FileError(f"cannot read {file}: it is larger than {LARGEST_FILE >> 20} MB")
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
    if options.traceparent and "traceparent" in dict(given):
        raise PlanError(_CONTRADICTION, option="--traceparent", other="-H 'traceparent: ...'")
    asked = ",".join(value for name, value in given if name == "connection")
    tokens = {token.strip().lower() for token in asked.split(",")}  # RFC 9110 section 7.6.1
    if options.keepalive and "close" in tokens:
        raise PlanError(_CONTRADICTION, option="-k", other="-H 'Connection: close'")
    if options.head and options.method not in (None, "HEAD"):
        text = "-i (HEAD) conflicts with -m {method}. Use one of them."
        raise PlanError(text, method=options.method)


def _check_framing(plan: Plan) -> None:
    """With a wrong length, the server waits for the rest of the body, or takes the rest for another request."""
    for target in plan.targets:
        size = 0 if target.body is None else len(target.body)
        lengths = [value for name, value in target.headers if name.lower() == "content-length"]
        if len(lengths) > 1:
            raise PlanError("-H 'Content-Length: ...' is given twice. Leave it out; loadtop sends the length.")
        if lengths and lengths[0] != str(size):
            given = f"-H 'Content-Length: {lengths[0]}'"
            if target.body is None:
                text = "{header} announces a body, but none is sent. Add -p or -u, or leave the header out."
                raise PlanError(text, header=given)
            text = "{header} does not match the body of {size}. Leave it out; loadtop sends the length."
            raise PlanError(text, header=given, size=plural(size, "{n} byte", "{n} bytes"))
        coding = next((value for name, value in target.headers if name.lower() == "transfer-encoding"), None)
        if coding is not None:
            text = (
                "-H 'Transfer-Encoding: {coding}' is not supported: bodies are sent unchanged, with their length. "
                "Leave it out{body}."
            )
            advice = Message(", and add a body with -p or -u") if target.body is None else None
            raise PlanError(text, coding=coding, body=advice)


def _check_numbers(plan: Plan, *, stepped: bool) -> None:
    for step in plan.steps:
        if step.rate is None and step.requests is not None and (step.concurrency or 0) > step.requests:
            one = "-c {c:d} is more than -n {n:d}. Raise -n or lower -c."
            several = "a step of {c} is more than -n {n:d}. Raise -n or lower the step."
            raise PlanError(several if stepped else one, c=step.concurrency, n=step.requests)
    if all(step.rate is None for step in plan.steps):
        most = max(step.concurrency or 0 for step in plan.steps)
        if plan.workers > most:
            text = "--workers {workers} is more than the number of connections ({connections}). Lower it or raise -c."
            raise PlanError(text, workers=plan.workers, connections=most)


def _check_addresses(plan: Plan) -> None:
    if plan.bind is None:
        return
    version = ipaddress.ip_address(plan.bind.partition("%")[0]).version
    for host in [target.origin.host for target in plan.targets] if plan.proxy is None else [plan.proxy.origin.host]:
        try:
            other = ipaddress.ip_address(host.partition("%")[0]).version
        except ValueError:
            continue
        if other != version:
            text = "-B {address} is IPv{version}, but {host} is IPv{other}. Use addresses of the same version."
            raise PlanError(text, address=plan.bind, version=version, host=host, other=other)


def _check_tls(options: Options, plan: Plan) -> None:
    about_tls = ("-f", "-Z", "-E", "-I", "--insecure")
    given = [each.name for each in CONNECTIONS.options if each.name in about_tls and each.given(options)]
    if not given:
        return
    from loadtop.generator.tls import tls_context

    tls_context(plan)
    if options.user_plan is not None:
        return  # only the engine knows what a user's plan requests
    if all(target.origin.scheme == "http" for target in plan.targets):
        one = "{options} needs an https URL. Use https://... or leave it out."
        several = "{options} need an https URL. Use https://... or leave them out."
        raise PlanError(plural(len(given), one, several, options=", ".join(given)))
