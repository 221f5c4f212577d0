"""php-fpm in ``loadtop doctor``."""

from loadtop.i18n import Message, Text, grouped, listed
from loadtop.model import Cause, HostSample
from loadtop.servers.checks import Checks, Lack
from loadtop.servers.php_fpm.record import FpmPool


def _seen(pools: tuple[FpmPool, ...]) -> Text:
    return grouped(map(_pool, pools))


def _pool(pool: FpmPool) -> Message:
    return Message(
        "pool {pool}{where}: pm.max_children {most}, queue {queue}",
        pool=pool.pool,
        where=Message(" ({address})", address=pool.address) if pool.address else None,
        most=Message("unknown") if pool.max_children is None else pool.max_children,
        queue=Message("unknown") if pool.listen_queue is None else pool.listen_queue,
    )


def _lacks(pools: tuple[FpmPool, ...], _: HostSample) -> Lack:
    unknown = [pool.pool for pool in pools if pool.max_children is None]
    if not unknown:
        return Lack()
    reason = Message("pm.max_children of {names}: its configuration may not be read", names=listed(unknown))
    return Lack(reason, Cause.ROOT)


CHECKS = Checks(_seen, _lacks)
