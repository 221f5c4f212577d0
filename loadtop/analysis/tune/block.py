"""The configuration block to paste, for the server that was found."""

from loadtop.analysis.tune.servers import Pool
from loadtop.servers.php_fpm.record import GROUP as FPM

DEFAULT_THREADS = 25
"""ThreadsPerChild where the server does not tell it: Apache's own default."""


def block(pool: Pool, workers: int) -> str:
    """Directives that allow ``workers`` workers, without a line end after the last."""
    if pool.group == FPM:
        lines = [f"[{pool.name}]", f"pm.max_children = {workers}"]
        if pool.manager == "dynamic":
            lines.append("; pm.start_servers and pm.max_spare_servers must not be larger")
        return "\n".join(lines)
    if pool.manager == "prefork":
        return "\n".join(
            [
                "<IfModule mpm_prefork_module>",
                f"    ServerLimit         {workers}",
                f"    MaxRequestWorkers   {workers}",
                "</IfModule>",
            ]
        )
    threads, servers = threaded(pool, workers)
    return "\n".join(
        [
            f"<IfModule mpm_{pool.manager if pool.manager in ('event', 'worker') else 'event'}_module>",
            f"    ServerLimit         {servers}",
            f"    ThreadsPerChild     {threads}",
            f"    MaxRequestWorkers   {threads * servers}",
            "</IfModule>",
        ]
    )


def allowed(pool: Pool, workers: int) -> int:
    """How many workers the block for ``workers`` allows."""
    if pool.group == FPM or pool.manager == "prefork":
        return workers
    threads, servers = threaded(pool, workers)
    return threads * servers


def threaded(pool: Pool, workers: int) -> tuple[int, int]:
    """ThreadsPerChild and ServerLimit for at most ``workers``: whole processes, as Apache rounds down itself."""
    threads = pool.threads_per_child or DEFAULT_THREADS
    if workers < threads:
        return workers, 1
    return threads, workers // threads
