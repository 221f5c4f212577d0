"""Numbers as characters, and what is made of them."""

from hypothesis import given
from hypothesis import strategies as st

from loadtop.recording.packing import (
    LIMIT,
    character,
    from_points,
    lengthen,
    numbers,
    pack_histogram,
    point,
    squeeze,
    unpack_histogram,
    unsqueeze,
    zeros,
)

NUMBERS = st.one_of(st.integers(0, 200), st.integers(0, LIMIT), st.sampled_from([93, 94, 55229, 55230, LIMIT]))


@given(values=st.lists(NUMBERS))
def test_numbers_come_back_from_their_characters(values: list[int]) -> None:
    text = "".join(map(character, values))
    assert numbers(text) == values
    assert text.encode().decode() == text


@given(values=st.lists(st.integers(0, 1 << 80)))
def test_numbers_come_back_from_their_points(values: list[int]) -> None:
    assert from_points(map(point, values)) == values


@given(value=NUMBERS)
def test_no_character_harms_a_terminal(value: int) -> None:
    code = ord(character(value))
    assert code >= 32
    assert not 0x7F <= code < 0xA0
    assert character(value) != "~"


@given(runs=st.lists(st.tuples(st.integers(0, 4000), NUMBERS), max_size=6))
def test_runs_of_zeros_come_back(runs: list[tuple[int, int]]) -> None:
    long = "".join(" " * count + character(value) for count, value in runs)
    short = "".join(zeros(count) + character(value) for count, value in runs)
    assert lengthen(short) == long
    assert len(short) <= len(long)


COUNTS = st.one_of(st.integers(1, 9), st.integers(1, 500), st.integers(-3, 1 << 40))


@given(
    pairs=st.one_of(
        st.dictionaries(st.integers(0, 4000), COUNTS).map(lambda found: sorted(found.items())),
        st.lists(st.tuples(st.integers(-5, 1 << 40), COUNTS), max_size=9),
    )
)
def test_histograms_come_back(pairs: list[tuple[int, int]]) -> None:
    buckets, counts = tuple(bucket for bucket, _ in pairs), tuple(count for _, count in pairs)
    assert unpack_histogram(pack_histogram(buckets, counts)) == (buckets, counts)


def test_a_histogram_is_about_a_character_per_bucket() -> None:
    buckets = [1000 + 3 * n for n in range(200)]
    assert len(pack_histogram(buckets, [1 + n % 3 for n in range(200)]).encode()) < 250


def test_what_is_stored_of_a_histogram_is_never_taken_for_json() -> None:
    for count in range(1, 400):
        packed = pack_histogram((count, count + 1), (count, 1))
        assert unpack_histogram(packed) == ((count, count + 1), (count, 1))
        assert not packed.startswith("[")


@given(text=st.one_of(st.text(), st.lists(st.sampled_from(["W" * 9, "_", ".." * 200, "K"])).map("".join)))
def test_squeezed_texts_come_back(text: str) -> None:
    assert unsqueeze(squeeze(text)) == text


@given(raw=st.binary(max_size=20))
def test_names_that_are_no_utf8_come_back(raw: bytes) -> None:
    name = raw.decode("utf-8", "surrogateescape")
    assert unsqueeze(squeeze(name)) == name


def test_an_empty_scoreboard_is_short() -> None:
    squeezed = squeeze("W" * 40 + "." * 360)
    assert isinstance(squeezed, str)
    assert len(squeezed) == 4
