"""The user's own plan for JMeter, looked through before anything runs."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from loadtop.engines.jmeter.settings import OwnPlan
from loadtop.generator.plan import PlanError

_PROPERTY = r"\$\{{__(?:P|property)\(\s*{name}\s*[,)]"


def read_own(file: Path) -> OwnPlan:
    """Raises PlanError where it cannot be read or is no plan."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"cannot read the plan {file}: {getattr(error, 'strerror', None) or error}") from None
    try:
        root = ET.fromstring(text)  # noqa: S314 - the user's own file
    except ET.ParseError as error:
        raise PlanError(f"the plan {file} is no XML: {error}") from None
    if root.tag != "jmeterTestPlan":
        raise PlanError(f"the plan {file} is none of JMeter's: it begins with <{root.tag}>, not with <jmeterTestPlan>")
    return OwnPlan(file.resolve(), text, threads=_reads(text, "threads"), duration=_reads(text, "duration"))


def url_of(own: OwnPlan) -> str | None:
    """The first server that the plan names in full; ``None`` where it names none so."""
    root = ET.fromstring(own.text)  # noqa: S314
    for sampler in (*root.iter("HTTPSamplerProxy"), *root.iter("ConfigTestElement")):
        part = {name: _property(sampler, f"HTTPSampler.{name}") for name in ("protocol", "domain", "port", "path")}
        host = part["domain"]
        if not host or any("${" in text for text in part.values()):
            continue
        path = part["path"] if part["path"].startswith("/") else f"/{part['path']}"
        return f"{part['protocol'] or 'http'}://{host}{':' + part['port'] if part['port'] else ''}{path}"
    return None


def data_files(own: OwnPlan) -> Iterator[str]:
    """Files that the plan reads and that are named from where it lies."""
    root = ET.fromstring(own.text)  # noqa: S314
    for data in root.iter("CSVDataSet"):
        name = _property(data, "filename")
        if name and not name.startswith(("/", "${")):
            yield name


def _property(element: ET.Element, name: str) -> str:
    found = next((each for each in element if each.get("name") == name), None)
    return "" if found is None else (found.text or "").strip()


def _reads(text: str, name: str) -> bool:
    return re.search(_PROPERTY.format(name=name), text) is not None
