"""Themes with colours of their own, where a terminal's palette does not serve: dark, light, and for the colour-blind.

Each has a background of its own. A terminal with fewer colours gets the nearest it has.
"""

from collections.abc import Mapping

from rich.style import Style

from tui.drawing.line import Role


def _theme(ground: str, ink: str, faint: str, frame: str, badge: str, **colours: str) -> dict[Role, Style]:
    """Every role on ``ground``. ``colours``: good, warn, bad, accent, low, high, user, system, iowait, steal."""
    known = {
        Role.DIM: faint,
        Role.VALUE: f"bold {ink}",
        Role.TITLE: f"bold {ink}",
        Role.FRAME: frame,
        Role.EMPTY: frame,
        Role.TAB: f"underline {faint}",
        Role.CHOSEN: colours["accent"],
        Role.ACCENT: colours["accent"],
        Role.BRAND: f"bold {colours['accent']}",
        Role.KEY: f"bold {colours['accent']}",
        Role.GRAPH_LOW: colours["low"],
        Role.GRAPH: colours["accent"],
        Role.GRAPH_TOP: colours["high"],
        Role.GOOD: colours["good"],
        Role.FREE: colours["good"],
        Role.WARN: colours["warn"],
        Role.FILLING: colours["warn"],
        Role.LIMIT: colours["warn"],
        Role.BAD: f"bold {colours['bad']}",
        Role.FULL: colours["bad"],
        Role.USER: colours["user"],
        Role.SYSTEM: colours["system"],
        Role.IOWAIT: colours["iowait"],
        Role.SWAP: colours["iowait"],
        Role.STEAL: colours["steal"],
    }
    badges = {Role.GOOD_BADGE: "good", Role.WARN_BADGE: "warn", Role.BAD_BADGE: "bad"}
    found = {role: Style.parse(f"{known.get(role, ink)} on {ground}") for role in Role}
    found |= {role: Style.parse(f"bold {badge} on {colours[name]}") for role, name in badges.items()}
    return found | {Role.SELECTED: Style.parse(f"{ground} on {ink}")}


def _dark() -> dict[Role, Style]:
    return _theme(
        "#14181d", "#d7dde4", "#8b96a3", "#3c4652", "#14181d",
        good="#7fc97f", warn="#e5c07b", bad="#f47067", accent="#56c2d6", low="#4a78b5", high="#a5e8f3",
        user="#56c2d6", system="#6d9bea", iowait="#c792ea", steal="#f47067",
    )  # fmt: skip


def _light() -> dict[Role, Style]:
    return _theme(
        "#fbfaf7", "#1f2328", "#656d76", "#b9b6ae", "#ffffff",
        good="#1a7f37", warn="#8a5a00", bad="#c1272d", accent="#0b6e86", low="#5b86b8", high="#084c5e",
        user="#0b6e86", system="#2f5fb3", iowait="#8a3fb0", steal="#c1272d",
    )  # fmt: skip


def _safe() -> dict[Role, Style]:
    """The colours of Okabe and Ito (2008), told apart with every kind of colour vision: blue is good, orange bad."""
    return _theme(
        "#101010", "#e8e8e8", "#a0a0a0", "#505050", "#101010",
        good="#56b4e9", warn="#f0e442", bad="#e69f00", accent="#56b4e9", low="#0072b2", high="#e8e8e8",
        user="#56b4e9", system="#0072b2", iowait="#cc79a7", steal="#e69f00",
    )  # fmt: skip


MAKERS = {"dark": _dark, "light": _light, "safe": _safe}


def theme(name: str) -> Mapping[Role, Style]:
    """The palette of a theme. Raises KeyError."""
    return MAKERS[name]()
