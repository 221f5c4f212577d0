"""Inputs with something wrong in them, the same ones for the same seed: for tests that take no time to speak of."""

import random
from collections.abc import Iterator, Sequence

PIECES = (
    *(
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\0",
        b": ",
        b";" * 300,
        b"-1",
        b"9" * 30,
        b"9" * 400,
        b"1e999",
        b"nan",
        b"0\r\n\r\n",
    ),
    *(b'"', b"'", b"{", b"[" * 300, b"\x1b]0;", b"\xff\xfe", "\u202e\u0663".encode(), b"../" * 9, b" " * 300, b"#mark"),
    *(b"HTTP/1.1 ", b"Content-Length: 7\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"= @//:"),
)


def mutated(seeds: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Endless inputs: the seeds with parts changed, doubled, cut out and mixed."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    while True:
        data = bytearray(b"".join(chance.choices(seeds, k=chance.choice((1, 1, 1, 2, 3)))))
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(data) + 1)
            end = min(len(data), place + chance.randrange(20))
            match chance.randrange(5):
                case 0:
                    data[place:end] = chance.randbytes(chance.randrange(8))
                case 1:
                    data[place:place] = chance.choice(PIECES)
                case 2:
                    data[place:place] = data[place:end] * chance.randrange(1, 40)
                case 3:
                    del data[place:end]
                case _:
                    data[place:end] = chance.choice(PIECES)
        yield bytes(data)
