"""Read the plan of an experiment; every error names file, line and fix."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

from msgspec import Meta, ValidationError, convert

from loadtop.analysis.experiment.plan import COMMAND_S, READY_S, ExperimentPlan, Level, Variant, line_of
from loadtop.cli.exit_codes import FileError, UsageError
from loadtop.generator.plan import PlanError, Target

TOP = (
    "title", "options", "time", "requests", "warmup", "repeats", "shuffle", "seed", "concurrencies", "rates", "finish",
    "urls", "variants",
)  # fmt: skip
OF_VARIANT = (
    "name", "apply", "ready", "host", "ready_time", "command_time", "urls", "concurrencies", "rates", "options"
)  # fmt: skip
REPLACED_OPTIONS = {
    "-c": "concurrencies", "--concurrency": "concurrencies", "--rate": "rates", "-t": "time", "--time": "time",
    "-n": "requests", "--requests": "requests", "--warmup": "warmup", "--steps": "concurrencies",
    "--json": "--out", "--record": "--out", "--no-record": "--out", "--html": "--out", "--urls": "[urls]",
}  # fmt: skip
"""Options of a load test that have a key in the plan, or cannot be used there."""


NO_VARIANT = 'there is no variant: write [[variants]], name = "..." and apply = ["..."]'


class Table:
    """One table of the file: returns checked values, and knows the line of each key."""

    def __init__(self, file: Path, text: str, name: str, index: int, values: Mapping[str, Any]) -> None:
        self._file, self._text, self._name, self._index = file, text, name, index
        self._values = values

    def wrong(self, key: str, message: str) -> UsageError:
        return self._wrong_at(line_of(self._text, self._name, self._index, key), message)

    def _wrong_at(self, line: int, message: str) -> UsageError:
        return UsageError(f"{self._file}, line {line}: {message}")

    def variant(self, index: int, values: Mapping[str, Any]) -> "Table":
        return Table(self._file, self._text, "variants", index, values)

    def check_keys(self, keys: tuple[str, ...]) -> None:
        """Raise UsageError for the first unknown key."""
        for key in self._values:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(keys)}"
                raise self.wrong(key, f"'{key}' is not known here: {hint}")

    def has(self, key: str) -> bool:
        return key in self._values

    def value(self, key: str, default: object, kind: Any, message: str) -> Any:
        """The value as that type. Raises UsageError with the message."""
        return self._converted(key, self._values.get(key, default), kind, message)

    def _converted(self, key: str, value: Any, kind: Any, message: str) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        try:
            return convert(value, kind)
        except ValidationError:
            raise self.wrong(key, message) from None

    def text(self, key: str, default: str | None = None) -> str:
        kind = Annotated[str, Meta(pattern=r"\S")] if default is None else str
        text: str = self.value(key, default, kind, f'{key} must be a string: write {key} = "..."')
        return text

    def texts(self, key: str) -> tuple[str, ...]:
        wrong = f'{key} must be a list of strings: write {key} = ["...", "..."]'
        found: str | tuple[str, ...] = self.value(key, (), str | tuple[str, ...], wrong)
        return (found,) if isinstance(found, str) else found

    def number(self, key: str, default: float, least: float, most: float) -> float:
        kind = Annotated[float, Meta(ge=least, le=most)]
        number: float = self.value(key, default, kind, f"{key} must be a number from {least:g} to {most:g}")
        return number

    def whole(self, key: str, default: int, least: int, most: int) -> int:
        kind = Annotated[int, Meta(ge=least, le=most)]
        number: int = self.value(key, default, kind, f"{key} must be a whole number from {least} to {most}")
        return number

    def flag(self, key: str) -> bool:
        flag: bool = self.value(key, False, bool, f"{key} must be true or false")
        return flag

    def options(self) -> tuple[str, ...]:
        """Words of a command line. Raises UsageError for options that have a key."""
        words = self.texts("options")
        for word in words:
            if (instead := REPLACED_OPTIONS.get(word.split("=")[0])) is not None:
                raise self.wrong("options", f"{word} does not belong in options: use {instead}")
        return words

    def levels(self) -> tuple[Level, ...]:
        whole = self._numbers("concurrencies", Annotated[int, Meta(ge=1, le=200_000)], "whole numbers from 1 to 200000")
        rates = self._numbers("rates", Annotated[float, Meta(gt=0, le=1e6)], "numbers above 0")
        return (*(Level(concurrency=each) for each in whole), *(Level(rate=each) for each in rates))

    def _numbers(self, key: str, kind: Any, what: str) -> list[Any]:
        must = f"{key} must be a list of {what}"
        listed = self.value(key, (), list[Any], f"{must}: write {key} = [1, 10, 20]")
        return [self._converted(key, each, kind, f"{must}, got {each!r}") for each in listed]

    def urls(self) -> tuple[tuple[str, str], ...]:
        wrong = 'urls must be a table of names and URLs: write [urls] and page = "http://..."'
        value: str | dict[str, Any] = self.value("urls", {}, str | dict[str, Any], wrong)
        named = {"": value} if isinstance(value, str) else value
        for name, url in named.items():
            if not isinstance(url, str) or not url.startswith(("http://", "https://")):
                raise self._wrong_url(name, f'{url!r} is not a URL: write {name or "urls"} = "http://HOST/path"')
            try:
                Target.parse(url)
            except PlanError as error:
                raise self._wrong_url(name, str(error)) from None
        return tuple(named.items())

    def _wrong_url(self, name: str, message: str) -> UsageError:
        """The error for a URL, which is in a table below this one, or at its key."""
        places = ((f"{self._name}.urls".strip("."), name), (self._name, "urls"))
        return self._wrong_at(max(line_of(self._text, table, self._index, key) for table, key in places), message)


def read_plan(file: Path) -> ExperimentPlan:
    """The whole plan, checked. Raises UsageError; nothing is run and nothing is sent."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise UsageError(f"{file}, line {line}: this is not TOML: {error}") from None
    top = Table(file, text, "", 0, values)
    plan = _plan(file, top)
    _check_cells(plan, top)
    return plan


def _plan(file: Path, top: Table) -> ExperimentPlan:
    top.check_keys(TOP)
    if top.has("time") and top.has("requests"):
        raise top.wrong("requests", "time and requests contradict each other: give one of them")
    options = top.options()
    plan = ExperimentPlan(
        file=file,
        title=top.text("title", file.stem),
        variants=_variants(top),
        urls=top.urls(),
        levels=top.levels(),
        time_s=None if top.has("requests") else top.number("time", 10.0, 0.1, 86_400.0),
        requests=top.whole("requests", 1, 1, 10**9) if top.has("requests") else None,
        warmup_s=top.number("warmup", 0.0, 0.0, 3_600.0),
        repeats=top.whole("repeats", 1, 1, 1_000),
        shuffle=top.flag("shuffle"),
        seed=top.whole("seed", 1, 0, 2**31),
        options=options,
        finish=top.texts("finish"),
    )
    for index, variant in enumerate(plan.variants):
        table = top.variant(index, {})
        if not variant.urls and not plan.urls:
            raise table.wrong("urls", f'variant {variant.name} has no URL: write [urls] and page = "http://..."')
        if not variant.levels and not plan.levels:
            raise table.wrong("name", f"variant {variant.name} has no load: write concurrencies = [1, 10] at the top")
    return plan


def _variants(top: Table) -> tuple[Variant, ...]:
    listed = top.value("variants", (), list[Any], NO_VARIANT)
    if not listed:
        raise top.wrong("variants", NO_VARIANT)
    found: list[Variant] = []
    for index, each in enumerate(listed):
        if not isinstance(each, dict):
            raise top.wrong("variants", "a variant must be a table: write [[variants]]")
        table = top.variant(index, cast("dict[str, Any]", each))
        table.check_keys(OF_VARIANT)
        name = table.text("name")
        if name in (known.name for known in found):
            raise table.wrong("name", f"the name {name} is given twice: every variant needs its own")
        found.append(
            Variant(
                name=name,
                apply=table.texts("apply"),
                ready=table.text("ready", ""),
                host=table.text("host", "") or None,
                ready_s=table.number("ready_time", READY_S, 0.1, 3_600.0),
                command_s=table.number("command_time", COMMAND_S, 0.1, 3_600.0),
                urls=table.urls(),
                levels=table.levels(),
                options=table.options(),
            )
        )
    return tuple(found)


def _check_cells(plan: ExperimentPlan, top: Table) -> None:
    """Raise UsageError unless every cell's command line is valid and its variant's host is known."""
    from loadtop.cli.options.command_line import parse

    hosts: dict[str, str] = {}
    for index, variant in enumerate(plan.variants):
        table = top.variant(index, {})
        for cell in (cell for cell in replace(plan, repeats=1).cells() if cell.variant is variant):
            try:
                options = parse(["run", *cell.words])
            except UsageError as error:
                raise (table if variant.options else top).wrong("options", f"{cell.label}: {error}") from None
            hosts.update(options.hosts)
        if variant.host is not None and variant.host not in hosts:
            fix = f"add options = ['--host', '{variant.host}=ssh://...'] at the top"
            raise table.wrong("host", f"no host is called {variant.host}: {fix}")
    plan.hosts.update(hosts)
