"""What the command palette offers: every key, and what is chosen by name."""

from collections.abc import Iterable, Sequence

from loadtop.i18n import tr
from tui.panels.processes import ORDERS
from tui.state.view import View
from tui.widgets.keys import Key
from tui.widgets.palette import Entry


def entries(keys: Sequence[Key], view: View, panels: Iterable[str]) -> list[Entry]:
    """All of it, for what is shown now."""
    found = [Entry(tr(key.help), key.shown, key.action) for key in keys if key.action not in ("palette", "interrupt")]
    if len(view.hosts) > 1:
        found += [
            Entry(tr("show machine {host}", host=host.name), "", f"show_host({host.name!r})") for host in view.hosts
        ]
    found += [Entry(tr("zoom panel {panel}", panel=tr(name)), "", f"screen.zoom({name!r})") for name in panels]
    found += [Entry(tr("order processes by {column}", column=name), "", f"screen.order({name!r})") for name in ORDERS]
    return found + [Entry(tr(key.help), key.shown, key.action) for key in keys if key.action == "interrupt"]
