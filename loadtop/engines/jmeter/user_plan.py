"""The user's own plan for JMeter, checked before anything runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from loadtop.generator.plan import PlanError

_PROPERTY = r"\$\{{__(?:P|property)\(\s*{name}\s*[,)]"


@dataclass(frozen=True, slots=True)
class UserPlan:
    """``threads`` and ``duration``: whether the plan reads these properties, for -c and -t."""

    file: Path
    text: str
    root: ET.Element
    threads: bool
    duration: bool

    def url(self) -> str | None:
        """Return the first URL without variables in the plan, if there is one."""
        for sampler in (*self.root.iter("HTTPSamplerProxy"), *self.root.iter("ConfigTestElement")):
            parts = [_property(sampler, f"HTTPSampler.{name}") for name in ("protocol", "domain", "port", "path")]
            scheme, host, port, path = parts
            if host and not any("${" in part for part in parts):
                return f"{scheme or 'http'}://{host}{':' + port if port else ''}/{path.removeprefix('/')}"
        return None

    def data_files(self) -> Iterator[str]:
        """Return the data files that the plan names relative to itself."""
        for data in self.root.iter("CSVDataSet"):
            name = _property(data, "filename")
            if name and not name.startswith(("/", "${")):
                yield name


def read_user_plan(file: Path) -> UserPlan:
    """Read and check a plan. Raises PlanError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PlanError("cannot read the plan {file}: {reason}", file=str(file), reason=reason) from None
    try:
        root = ET.fromstring(text)  # noqa: S314 - the user's own file
    except ET.ParseError as error:
        raise PlanError("the plan {file} is not XML: {reason}", file=str(file), reason=str(error)) from None
    if root.tag != "jmeterTestPlan":
        raise PlanError(
            "the plan {file} is not a JMeter plan: it starts with <{tag}>, not with <jmeterTestPlan>",
            file=str(file),
            tag=root.tag,
        )
    return UserPlan(file.resolve(), text, root, threads=_reads(text, "threads"), duration=_reads(text, "duration"))


def _property(element: ET.Element, name: str) -> str:
    found = next((child for child in element if child.get("name") == name), None)
    return "" if found is None else (found.text or "").strip()


def _reads(text: str, name: str) -> bool:
    return re.search(_PROPERTY.format(name=name), text) is not None
