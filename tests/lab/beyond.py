"""An Apache that is reached over the line of a network namespace."""

from tests.lab.case import Bench
from tests.lab.namespace import Namespace
from tests.servers.program import free_port


def behind(bench: Bench, far: Namespace, pages: dict[str, str], *, keepalive_s: int = 5) -> str:
    """An Apache that a namespace's line leads to; its address from there."""
    port = free_port()
    bench.apache(
        mpm="prefork", php="mod", workers=200, pages=pages, keepalive_s=keepalive_s,
        extra=f"Listen {far.address}:{port}",
    )  # fmt: skip
    return f"http://{far.address}:{port}/"
