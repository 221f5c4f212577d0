"""The block that grows: which of its rows are written with a frame."""

from collections.abc import Sequence

from loadtop.model import Listener
from loadtop.recording import schema
from loadtop.recording.block_writing import BlockWriter
from loadtop.recording.definitions import Numbering


def written(blocks: BlockWriter, frame: int, queues: Sequence[tuple[int, int]]) -> int:
    """How many rows change with a frame in which these things have these queues."""
    blocks.begin(frame)
    rows = [blocks.values(schema.LISTENER, Listener(80, queue, 5)) for _, queue in queues]
    blocks.put(schema.LISTENER, 1, [thing for thing, _ in queues], rows)
    return len(blocks.rows())


def test_only_what_changes_is_written() -> None:
    blocks = BlockWriter(Numbering())
    assert written(blocks, 1, [(1, 0), (2, 0), (3, 0)]) == 3
    assert written(blocks, 2, [(1, 0), (2, 0), (3, 0)]) == 0
    assert written(blocks, 3, [(1, 0), (2, 7), (3, 0)]) == 1
    assert written(blocks, 4, [(1, 0), (2, 7), (3, 0), (4, 0)]) == 1, "one that comes writes none of the others anew"
    assert written(blocks, 5, [(1, 0), (2, 7), (3, 0)]) == 1, "nor one that goes"
    assert written(blocks, 6, [(1, 0), (3, 0), (2, 7)]) == 2, "what stands elsewhere has changed"
    assert written(blocks, 7, [(1, 0), (3, 0), (2, 7), (4, 0)]) == 1
