"""Which engine generates the load, on which machines, and from whose plan."""

from pathlib import Path

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.options.table import options_of
from loadtop.i18n import Message, Translatable


def check_engine(options: Options) -> None:
    """Raise UsageError for what the engine cannot do; read the user's plan and check its syntax."""
    name = options.engine
    for option in options_of("run"):
        if name in option.refused and option.given(options):
            text: Translatable = "{option} is not possible with --engine {engine}: {advice}"
            raise UsageError(Message(text, option=option.name, engine=name, advice=Message(option.refused[name])))
    if name == "builtin":
        return
    if not options.generators and not options.servers:
        options.generators = [("local", "local")]
    names = [each for each, _ in options.generators]
    if len(set(names)) < len(names):
        raise UsageError(f"--generator: a name is given twice among {', '.join(names)}")
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


def take_url_of_plan(options: Options) -> None:
    """If JMeter runs a user's plan and no URL is given, load the server that the plan names. Raises PlanError."""
    file = options.user_plan
    if options.engine != "jmeter" or file is None or options.urls or options.url_file is not None:
        return
    from loadtop.engines.jmeter.user_plan import read_user_plan

    _read_plan(options, file)
    url = read_user_plan(file).url()
    if url is None:
        raise UsageError(f"the plan {file} names its server by variables: give the URL of the server that it loads")
    options.urls = [url]


def _read_plan(options: Options, file: Path) -> str:
    """The user's plan. Raises UsageError for options that the plan replaces."""
    suffix = ".py" if options.engine == "locust" else ".jmx"
    if file.suffix != suffix:
        raise UsageError(f"--plan {file}: --engine {options.engine} needs a FILE{suffix}")
    for option in options_of("run"):
        if options.engine in option.own_plan and option.given(options):
            raise UsageError(f"{option.name} has no effect with --plan: {file} says what to request; leave it out")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the plan {file}: {getattr(error, 'strerror', None) or error}") from None
