"""Messages: English for JSON, the reader's language for people, plain data for recordings and workers."""

import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.i18n import MAX_DEPTH, Message, MessageError, listed, plural, rendered, sentences, tr, verbatim

WAIT = Message("{host} does not answer within {seconds:.0f} s", host="web1", seconds=4.6)


def test_str_is_english_with_formatted_numbers() -> None:
    assert str(WAIT) == "web1 does not answer within 5 s"
    assert str(Message("{{{share:.0%}}} of {number}", share=0.5, number=1_200_000)) == "{50%} of 1,200,000"
    assert str(Message("{pid:d} {size:.1f} {ms:.3g}", pid=12345, size=1234.56, ms=2437.0)) == "12345 1,234.6 2,440"


def test_equal_messages_are_equal_and_hash_alike() -> None:
    again = Message("{host} does not answer within {seconds:.0f} s", seconds=4.6, host="web1")
    assert again == WAIT
    assert len({again, WAIT}) == 1


def test_a_clause_that_is_none_is_left_out() -> None:
    assert str(Message("raise it{target}", target=None)) == "raise it"
    assert str(Message("raise it{target}", target=Message(" to {n}", n=5))) == "raise it to 5"


def test_sentences_and_lists_are_joined_as_the_language_does(japanese: None) -> None:  # noqa: ARG001 (the language)
    text = sentences(Message("Nothing was measured."), None, Message("Nothing was measured."))
    assert str(text) == "Nothing was measured. Nothing was measured."
    assert rendered(text) == "何も測定していません。何も測定していません。"
    assert sentences(WAIT, None) is WAIT
    items = listed(["eth0", Message("swap traffic")])
    assert str(items) == "eth0, swap traffic"
    assert rendered(items) == "eth0、スワップ転送"


def test_plural_chooses_by_number() -> None:
    assert [str(plural(n, "{n} worker of {engine}", "{n} workers of {engine}", engine="x")) for n in (0, 1, 2)] == [
        "0 workers of x",
        "1 worker of x",
        "2 workers of x",
    ]


def test_texts_of_other_programs_are_escaped_for_people_and_never_translated(japanese: None) -> None:  # noqa: ARG001
    assert str(verbatim("a\x1b[2J {b}")) == "a\x1b[2J {b}"
    assert rendered(verbatim("a\x1b[2J {b}")) == r"a\x1b[2J {b}"
    assert rendered(verbatim("Nothing was measured.")) == "Nothing was measured."
    assert rendered(None) == ""


def test_tr_renders_messages_among_its_values(japanese: None) -> None:  # noqa: ARG001 (the language)
    assert (
        tr("fix: ") + tr("{seen}. {missing}", seen=Message("not permitted"), missing=7) == "対処: 権限がありません。7"
    )


def test_an_error_carries_its_message_and_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(MessageError(WAIT)))  # noqa: S301 (made here)
    assert error.message == WAIT
    assert str(error) == "web1 does not answer within 5 s"
    assert MessageError("{n} connections", n=3).message == Message("{n} connections", n=3)


texts = st.text(max_size=20)
leaves = texts | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.none()


def made(parameter: st.SearchStrategy[object]) -> st.SearchStrategy[Message]:
    several = st.lists(st.builds(verbatim, texts), max_size=3).map(tuple)

    def both(a: Any, b: Any) -> Message:
        return Message("{a} and {b}", a=a, b=b)

    return st.builds(both, parameter, leaves | several)


@given(made(leaves | made(leaves)))
def test_plain_data_and_messagepack_give_the_same_message(message: Message) -> None:
    data = msgspec.to_builtins(message)
    assert msgspec.convert(data, Message) == message
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=Message) == message
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(data)), Message) == message


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        {"template": 1},
        {"template": "{a}"},
        {"template": "{a:1000000000}", "params": [["a", 1]]},
        {"template": "{a.__class__}", "params": [["a", 1]]},
        {"template": "{a!r}", "params": [["a", 1]]},
        {"template": "{"},
        {"template": "x" * 20_000},
        {"template": "{a:.1f}", "params": [["a", 10**400]]},
    ],
)
def test_hostile_data_is_refused(data: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(data, Message)


def test_hostile_depth_is_refused_and_repetition_is_bounded() -> None:
    data: dict[str, object] = {"template": "x"}
    for _ in range(MAX_DEPTH - 1):
        data = {"template": "{a}" * 1000, "params": [["a", data]]}
    assert len(str(msgspec.convert(data, Message))) <= 16_384
    for depth in (1, 100_000):
        for _ in range(depth):
            data = {"template": "{a}", "params": [["a", data]]}
        with pytest.raises((msgspec.ValidationError, RecursionError)):
            msgspec.convert(data, Message)
