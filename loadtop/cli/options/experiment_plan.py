"""Read the plan of an experiment; every error names file, line and fix."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import asdict, replace

from loadtop.analysis.experiment.plan import ExperimentPlan, PlanKeys, PlanTable, Variant, line_of
from loadtop.cli.exit_codes import FileError, UsageError
from loadtop.cli.options.command_line import parse
from loadtop.generator.plan import PlanError, Target

REPLACED_OPTIONS = {
    "-c": "concurrencies", "--concurrency": "concurrencies", "--rate": "rates", "-t": "time", "--time": "time",
    "-n": "requests", "--requests": "requests", "--warmup": "warmup", "--steps": "concurrencies",
    "--json": "--out", "--record": "--out", "--no-record": "--out", "--html": "--out", "--junit": "--out",
    "--hdr": "--out", "-e": "--out", "--percentiles-csv": "--out", "-g": "--out", "--gnuplot": "--out",
    "--urls": "[urls]",
}  # fmt: skip
"""Options of a load test that have a key in the plan, or cannot be used there."""

_FIELD = re.compile(r"field `(.*?)`")
_PATH = re.compile(r"`\$(?:\.variants\[(\d+)\])?(?:\.(\w+))?(?:\[(\d+)\])?[^`]*`$")
"""Where an error of msgspec is: at a field that is missing or unknown, or at a value."""


class PlanText(Struct, frozen=True):
    """The text of a plan; its errors name the line of a key of the plan, or of a variant by its number from 0."""

    file: Path
    text: str

    def wrong(self, variant: int | None, key: str, message: str) -> UsageError:
        table = "" if variant is None else "variants"
        return self._wrong_at(line_of(self.text, table, variant or 0, key), message)

    def wrong_url(self, variant: int | None, name: str, message: str) -> UsageError:
        """The error for a URL, which is in a table below the other one, or at its key."""
        places = (("urls", name), ("", "urls")) if variant is None else (("variants.urls", name), ("variants", "urls"))
        return self._wrong_at(max(line_of(self.text, table, variant or 0, key) for table, key in places), message)

    def _wrong_at(self, line: int, message: str) -> UsageError:
        return UsageError(f"{self.file}, line {line}: {message}")


def read_plan(file: Path) -> ExperimentPlan:
    """The whole plan, checked. Raises UsageError; nothing is run and nothing is sent."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    try:
        values = tomllib.loads(text, parse_float=_number)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise UsageError(f"{file}, line {line}: invalid TOML: {error}") from None
    return _plan(PlanText(file, text), values)


def _number(word: str) -> float:
    """A whole number stays one, however it is written."""
    number = float(word)
    return int(number) if number.is_integer() else number


def _plan(text: PlanText, values: dict[str, Any]) -> ExperimentPlan:
    if "time" in values and "requests" in values:
        raise text.wrong(None, "requests", "set time or requests, not both")
    values.setdefault("title", text.file.stem)
    variants: list[Any] = values["variants"] if isinstance(values.get("variants"), list) else []
    if not variants:
        wrong = 'there is no variant: write [[variants]], name = "..." and apply = ["..."]'
        raise text.wrong(None, "variants", wrong)
    if not all(isinstance(table, dict) for table in variants):
        raise text.wrong(None, "variants", "a variant must be a table: write [[variants]]")
    for table in (values, *variants):
        for key in ("apply", "finish", "options", "urls"):
            # A text alone stands for a list of one, and a URL alone for one without a name.
            if isinstance(table.get(key), str):
                table[key] = {"": table[key]} if key == "urls" else [table[key]]
    try:
        plan = convert(values, PlanKeys)
    except ValidationError as error:
        raise _explained(text, values, str(error)) from None
    _check_table(text, None, plan)
    for index, variant in enumerate(plan.variants):
        _check_table(text, index, variant)
        if variant.name in (known.name for known in plan.variants[:index]):
            raise text.wrong(index, "name", f"the name {variant.name} is given twice: every variant needs its own")
        if not variant.urls and not plan.urls:
            wrong = f'variant {variant.name} has no URL: write [urls] and page = "http://..."'
            raise text.wrong(index, "urls", wrong)
        if not variant.levels and not plan.levels:
            wrong = f"variant {variant.name} has no load: write concurrencies = [1, 10] at the top"
            raise text.wrong(index, "name", wrong)
    whole = ExperimentPlan(**asdict(plan), file=text.file)
    return replace(whole, hosts=_hosts(text, whole))


def _explained(text: PlanText, values: dict[str, Any], error: str) -> UsageError:
    """The error of a key that is unknown, missing or wrong, or of one element of its list."""
    field, path = _FIELD.search(error), _PATH.search(error)
    variant, key, element = (None, None, None) if path is None else path.groups()
    number = None if variant is None else int(variant)
    name = key or "" if field is None else field[1]
    known = get_type_hints(PlanKeys if number is None else Variant, include_extras=True)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(known)}"
        return text.wrong(number, name, f"unknown key '{name}': {hint}")
    meta: Meta = known[name].__metadata__[0]
    must = f"{name} must be {meta.description}"
    if element is not None:
        table = values if number is None else values["variants"][number]
        must += f", got {table[name][int(element)]!r}"
    elif meta.examples:
        must += f": write {name} = {meta.examples[0]}"
    return text.wrong(number, name, must)


def _check_table(text: PlanText, variant: int | None, table: PlanTable) -> None:
    for word in table.options:
        if (instead := REPLACED_OPTIONS.get(word.split("=")[0])) is not None:
            raise text.wrong(variant, "options", f"{word} does not belong in options: use {instead}")
    for name, url in table.urls.items():
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            wrong = f'{url!r} is not a URL: write {name or "urls"} = "http://HOST/path"'
            raise text.wrong_url(variant, name, wrong)
        try:
            Target.parse(url)
        except PlanError as error:
            raise text.wrong_url(variant, name, str(error)) from None


def _hosts(text: PlanText, plan: ExperimentPlan) -> dict[str, str]:
    """The hosts of all cells. Raises UsageError if a command line is wrong, or the host of a variant unknown."""
    hosts: dict[str, str] = {}
    for index, variant in enumerate(plan.variants):
        for cell in (cell for cell in replace(plan, repeats=1).cells() if cell.variant is variant):
            try:
                hosts.update(parse(["run", *cell.words]).hosts)
            except UsageError as error:
                raise text.wrong(index if variant.options else None, "options", f"{cell.label}: {error}") from None
        if variant.host and variant.host not in hosts:
            fix = f"add options = ['--host', '{variant.host}=ssh://...'] at the top"
            raise text.wrong(index, "host", f"no host is called {variant.host}: {fix}")
    return hosts
