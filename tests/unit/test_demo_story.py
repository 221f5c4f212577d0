"""What the demo says of its phases."""

import pytest
from msgspec.structs import replace

from loadtop.cli.demo.story import OVER, PHASES, STARTING, Narrator, caption
from loadtop.i18n import LANGUAGES, language, rendered, set_language, width
from loadtop.model import LoadSample, LoadState
from tests.unit.known import known
from tests.unit.recording.made import moments, with_frame


@pytest.fixture
def load() -> LoadSample:
    return replace(known(moments(3)[-1].load), state=LoadState.RUNNING)


def test_each_phase_is_reported_once_when_it_begins(load: LoadSample) -> None:
    told: list[str] = []
    narrator, snapshot = Narrator(told.append), moments(3)[-1]
    starting = replace(load, state=LoadState.STARTING)
    for sample in (starting, *(replace(load, step=step) for step in (1, 1, 2, 3, 3))):
        narrator.add(with_frame(snapshot, load=sample))
    assert told == [str(phase.told) for phase in PHASES]


def test_the_caption_is_that_of_the_phase_also_after_a_restart(load: LoadSample) -> None:
    assert caption(None) == caption(replace(load, state=LoadState.STARTING)) == STARTING
    assert [caption(replace(load, step=step)) for step in (1, 2, 3, 4)] == [
        *(phase.told for phase in PHASES),
        PHASES[0].told,
    ]
    assert caption(replace(load, state=LoadState.DONE)) == OVER


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_every_line_fits_80_columns(spoken: str) -> None:
    before = language()
    set_language(spoken)
    try:
        lines = [rendered(text) for text in (STARTING, OVER, *(phase.told for phase in PHASES))]
    finally:
        set_language(before)
    assert max(map(width, lines)) <= 79
