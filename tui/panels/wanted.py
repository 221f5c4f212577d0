"""Whether a server that not every machine has is worth a panel."""

from loadtop.model import Group, State
from tui.state.view import View


def has_server(view: View, collector: str, group: Group) -> bool:
    """Whether such a server runs on the chosen machine, or a page of it that was given does not answer."""
    rates, sample = view.past.rates, view.sample
    if rates is not None and rates.group(group) is not None:
        return True
    outcomes = () if sample is None else sample.outcomes
    return any(found.collector == collector and found.state is State.FAILED for found in outcomes)
