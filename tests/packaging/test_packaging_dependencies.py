"""The versions that are tested together are versions that the package allows, and private interfaces have a bound."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PRIVATE = {"textual", "pyte", "PyMySQL"}  # of which private parts are used
DATABASES = PROJECT["project"]["optional-dependencies"]["databases"]  # the tests need them
PINNED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
}


def test_every_dependency_is_pinned_to_a_version_that_it_allows() -> None:
    wanted = [*PROJECT["project"]["dependencies"], *DATABASES, *PROJECT["dependency-groups"]["dev"]]
    for requirement in map(Requirement, wanted):
        assert PINNED[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_dependencies_have_a_lower_bound_and_private_parts_an_upper_one() -> None:
    for requirement in map(Requirement, [*PROJECT["project"]["dependencies"], *DATABASES]):
        operators = {specifier.operator for specifier in requirement.specifier}
        assert ">=" in operators, requirement
        assert "<" in operators or requirement.name not in PRIVATE, requirement
