"""Read the plan of an experiment; every error names file, line and fix."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from loadtop.analysis.experiment.plan import COMMAND_S, READY_S, ExperimentPlan, Level, Variant, line_of
from loadtop.cli.exit_codes import UnreadableError, UsageError
from loadtop.generator.plan import PlanError
from loadtop.generator.target import Target

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


class PlanFileError(UsageError):
    """A plan is wrong; the message names file, line and fix."""


class Table:
    """One table of the file: returns checked values, and knows the line of each key."""

    def __init__(self, file: Path, text: str, name: str, index: int, values: Mapping[str, Any]) -> None:
        self._file, self._text, self._name, self._index = file, text, name, index
        self._values = values

    def wrong(self, key: str, message: str) -> PlanFileError:
        """The error for a key."""
        line = line_of(self._text, self._name, self._index, key)
        return PlanFileError(f"{self._file}, line {line}: {message}")

    def known(self, keys: tuple[str, ...]) -> None:
        """Raise PlanFileError for the first unknown key."""
        for key in self._values:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(keys)}"
                raise self.wrong(key, f"'{key}' is not known here: {hint}")

    def has(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, default: str | None = None) -> str:
        value = self._values.get(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.wrong(key, f'{key} must be a string: write {key} = "..."')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._values.get(key, [])
        if isinstance(value, str):
            return (value,)
        listed = _listed(value)
        if listed is None or not all(isinstance(each, str) for each in listed):
            raise self.wrong(key, f'{key} must be a list of strings: write {key} = ["...", "..."]')
        return tuple(listed)

    def number(self, key: str, default: float, least: float, most: float) -> float:
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.wrong(key, f"{key} must be a number from {least:g} to {most:g}")
        return float(value)

    def whole(self, key: str, default: int, least: int, most: int) -> int:
        value = self.number(key, default, least, most)
        if value != int(value):
            raise self.wrong(key, f"{key} must be a whole number from {least} to {most}")
        return int(value)

    def flag(self, key: str) -> bool:
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{key} must be true or false")
        return value

    def levels(self) -> tuple[Level, ...]:
        """The load steps of ``concurrencies`` and ``rates``."""
        return (
            *(Level(concurrency=int(each)) for each in self._numbers("concurrencies", whole=True)),
            *(Level(rate=each) for each in self._numbers("rates", whole=False)),
        )

    def _numbers(self, key: str, *, whole: bool) -> list[float]:
        value = self._values.get(key, [])
        kind = "whole numbers from 1 to 200000" if whole else "numbers above 0"
        listed = _listed(value)
        if listed is None:
            raise self.wrong(key, f"{key} must be a list of {kind}: write {key} = [1, 10, 20]")
        for each in listed:
            fits = isinstance(each, int | float) and not isinstance(each, bool) and 0 < each <= 1e6
            if not fits or (whole and (each != int(each) or each > 200_000)):
                raise self.wrong(key, f"{key} must be a list of {kind}, got {each!r}")
        return [float(each) for each in listed]

    def urls(self, key: str = "urls") -> tuple[tuple[str, str], ...]:
        """The named URLs of a table, or a single URL."""
        value = self._values.get(key, {})
        if isinstance(value, str):
            value = {"": value}
        if not isinstance(value, dict):
            raise self.wrong(key, f'{key} must be a table of names and URLs: write [{key}] and page = "http://..."')
        for name, url in cast("dict[str, Any]", value).items():
            if not isinstance(url, str) or not url.startswith(("http://", "https://")):
                raise self._wrong_url(key, name, f'{url!r} is not a URL: write {name or key} = "http://HOST/path"')
            try:
                Target.parse(url)
            except PlanError as error:
                raise self._wrong_url(key, name, str(error)) from None
        return tuple(cast("dict[str, str]", value).items())

    def _wrong_url(self, key: str, name: str, message: str) -> PlanFileError:
        """The error for a URL, which is in a table below this one, or at its key."""
        within = f"{self._name}.{key}".strip(".")
        line = max(line_of(self._text, within, self._index, name), line_of(self._text, self._name, self._index, key))
        return PlanFileError(f"{self._file}, line {line}: {message}")


def _listed(value: object) -> list[Any] | None:
    """The value if it is a list."""
    if isinstance(value, list):
        found: list[Any] = [*value]  # pyright: ignore[reportUnknownVariableType]
        return found
    return None


def read_plan(file: Path) -> ExperimentPlan:
    """The whole plan, checked. Raises PlanFileError; nothing is run and nothing is sent."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(
            f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        ) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise PlanFileError(f"{file}, line {line}: this is not TOML: {error}") from None
    plan = _plan(file, text, values)
    _check_cells(plan, text)
    return plan


def _plan(file: Path, text: str, values: dict[str, Any]) -> ExperimentPlan:
    top = Table(file, text, "", 0, values)
    top.known(TOP)
    if top.has("time") and top.has("requests"):
        raise top.wrong("requests", "time and requests contradict each other: give one of them")
    options = top.texts("options")
    _check_options(top, options)
    plan = ExperimentPlan(
        file=file,
        title=top.text("title", file.stem),
        variants=_variants(file, text, top, values),
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
        table = Table(file, text, "variants", index, {})
        if not variant.urls and not plan.urls:
            raise table.wrong("urls", f'variant {variant.name} has no URL: write [urls] and page = "http://..."')
        if not variant.levels and not plan.levels:
            raise table.wrong("name", f"variant {variant.name} has no load: write concurrencies = [1, 10] at the top")
    return plan


def _variants(file: Path, text: str, top: Table, values: dict[str, Any]) -> tuple[Variant, ...]:
    listed = _listed(values.get("variants", []))
    if not listed:
        raise top.wrong("variants", 'there is no variant: write [[variants]], name = "..." and apply = ["..."]')
    found: list[Variant] = []
    for index, each in enumerate(listed):
        if not isinstance(each, dict):
            raise top.wrong("variants", "a variant must be a table: write [[variants]]")
        table = Table(file, text, "variants", index, cast("dict[str, Any]", each))
        table.known(OF_VARIANT)
        name = table.text("name")
        if name in (known.name for known in found):
            raise table.wrong("name", f"the name {name} is given twice: every variant needs its own")
        options = table.texts("options")
        _check_options(table, options)
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
                options=options,
            )
        )
    return tuple(found)


def _check_options(table: Table, options: tuple[str, ...]) -> None:
    for word in options:
        instead = REPLACED_OPTIONS.get(word.split("=")[0])
        if instead is not None:
            raise table.wrong("options", f"{word} does not belong in options: use {instead}")


def _check_cells(plan: ExperimentPlan, text: str) -> None:
    """Raise PlanFileError unless every cell's command line is valid and its variant's host is known."""
    from loadtop.cli.options.command_line import parse

    hosts: dict[str, str] = {}
    for index, variant in enumerate(plan.variants):
        table = Table(plan.file, text, "variants", index, {})
        for cell in (cell for cell in replace(plan, repeats=1).cells() if cell.variant is variant):
            try:
                options = parse(["run", *cell.words])
            except UsageError as error:
                whose = table if variant.options else Table(plan.file, text, "", 0, {})
                raise whose.wrong("options", f"{cell.label}: {error}") from None
            hosts.update(options.watching.hosts)
        if variant.host is not None and variant.host not in hosts:
            fix = f"add options = ['--host', '{variant.host}=ssh://...'] at the top"
            raise table.wrong("host", f"no host is called {variant.host}: {fix}")
    plan.hosts.update(hosts)
