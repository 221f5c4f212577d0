"""The line of a TOML file in which a key stands, for messages."""

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*(?:\"([^\"]+)\"|'([^']+)'|([A-Za-z0-9_-]+))\s*=")


def line_of(text: str, table: str, index: int, key: str) -> int:
    """The line (from 1) of ``key`` in the ``index``-th ``[table]`` or ``[[table]]`` (from 0; "" is the top level).

    A table below another has that one's index. A key of the top level may be a table itself. Where the key is not
    there, the line of the table's header; 1 where that is not there either.
    """
    current, counts, at = "", dict[str, int](), 1
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header is not None and "=" not in line.split("#")[0]:
            current = header[2]
            above = current.rpartition(".")[0]
            counts[current] = counts[above] if above in counts else counts.get(current, -1) + 1
            if not table and current == key:
                return number
            if current == table and counts[current] == index:
                at = number
            continue
        if current != table or counts.get(table, 0) != index:
            continue
        found = _KEY.match(line)
        if found is not None and (found[1] or found[2] or found[3]) == key:
            return number
    return at
