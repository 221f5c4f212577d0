"""The generator beside ab, wrk and others, in alternating runs: ``python -m benchmarks.load [--rounds N] [--quick]``.

With ``--server return --workers 2`` two workers are measured, beside tools that use all cores.

Every round runs every tool once, in an order that turns with the rounds, against the same server. What is printed is
the median of the ratios to the same round's ab, so that a machine that is slower for a while slows both; and in
brackets the least and the greatest ratio. Goals are those of the project: with keep-alive on 1 kB at most 1.15 times
ab's CPU time per request and at least 0.95 times its requests/s, without keep-alive at least 0.9 times.
"""

import argparse
import os
import platform
import statistics
import sys

import psutil

from benchmarks.load_servers import server
from benchmarks.load_tools import PERCENTS, Load, Result, installed, run_tool

CASES = (
    ("nginx", "1k", True, 300_000),
    ("nginx", "1k", False, 60_000),
    ("nginx", "100k", True, 60_000),
    ("nginx", "100k", False, 30_000),
    ("apache", "1k", True, 300_000),
    ("apache", "1k", False, 40_000),
    ("return", "1k", True, 600_000),
)
CPU_GOAL = 1.15
RATE_GOALS = {True: 0.95, False: 0.9}
BESIDE_GOALS = {"oha": 1.0, "hey": 3.0, "k6": 5.0}
"""How many times the requests/s of these tools two workers are to make, where the server is cheap."""

Round = dict[str, Result]


def main() -> int:
    """Print the tables; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description="compare loadtop's generator with other load tools")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=32, help="connections")
    parser.add_argument("--server", choices=["nginx", "apache", "return"], help="only the cases of this server")
    parser.add_argument("--case", type=int, help="only this one of them, from 0")
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    parser.add_argument("--only", choices=["ab"], help="only this tool beside loadtop")
    parser.add_argument("--workers", type=int, default=1, help="loadtop's processes, and wrk's threads")
    options = parser.parse_args()
    tools = ["loadtop", *([options.only] if options.only else installed())]
    print(f"{machine()}, c={options.concurrency}, loadtop with {options.workers} worker(s)")
    met = True
    cases = [case for case in CASES if options.server in (None, case[0])]
    only: int | None = options.case
    for name, page, keepalive, requests in cases if only is None else [cases[only]]:
        with server(name) as url:
            load = Load(
                f"{url}{page}.html",
                requests // 10 if options.quick else requests,
                options.concurrency,
                keepalive,
                options.workers,
            )
            rounds = [_round(tools, number, load) for number in range(options.rounds)]
        print(
            f"\n{name}, {page}B, {'keep-alive' if keepalive else 'a connection per request'}, {load.requests} requests",
            flush=True,
        )
        _print_table(tools, rounds)
        goals = BESIDE_GOALS if name == "return" and options.workers > 1 else {}
        met &= _meets_beside(rounds, goals)
        if page == "1k" and name != "return":
            met &= _meets(rounds, keepalive=keepalive)
    return 0 if met else 1


def machine() -> str:
    """This machine by its kind."""
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {system}, Python {platform.python_version()}"


def _round(tools: list[str], number: int, load: Load) -> Round:
    turn = number % len(tools)
    found = {tool: run_tool(tool, load) for tool in tools[turn:] + tools[:turn]}
    return {tool: result for tool, result in found.items() if result is not None}


def _ratios(rounds: list[Round], tool: str, figure: str, other: str = "ab") -> list[float]:
    return [getattr(each[tool], figure) / getattr(each[other], figure) for each in rounds]


def _print_table(tools: list[str], rounds: list[Round]) -> None:
    columns = [("", 9), ("req/s", 9), ("x ab", 22), ("CPU us", 9), ("x ab", 22), ("MB", 7)]
    columns += [(f"p{percent} ms", 9) for percent in PERCENTS]
    print("".join(f"{title:>{width}}" for title, width in columns))
    for tool in tools:
        if tool in rounds[0]:
            cells = [tool.ljust(9), *_figures(tool, rounds)]
            print("".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, columns, strict=False)))


def _figures(tool: str, rounds: list[Round]) -> list[str]:
    results = [each[tool] for each in rounds]
    return [
        f"{statistics.median(each.requests_s for each in results):.0f}",
        _spread(_ratios(rounds, tool, "requests_s")),
        f"{statistics.median(each.cpu_us for each in results):.2f}",
        _spread(_ratios(rounds, tool, "cpu_us")),
        f"{statistics.median(each.memory_mb for each in results):.0f}",
        *[
            f"{statistics.median(each.percentiles[place] for each in results):.3f}"
            for place in range(len(results[0].percentiles))
        ],
    ]


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _meets_beside(rounds: list[Round], goals: dict[str, float]) -> bool:
    met = True
    for tool in rounds[0]:
        if tool not in ("loadtop", "ab"):
            rates = _ratios(rounds, "loadtop", "requests_s", tool)
            cpu = _spread(_ratios(rounds, tool, "cpu_us", "loadtop"))
            said = f"loadtop beside {tool}: requests/s x {_spread(rates)}; requests for the same CPU time x {cpu}"
            if tool in goals:
                right = statistics.median(rates) >= goals[tool]
                said += f"; at least {goals[tool]:g} x its requests/s: {'yes' if right else 'NO'}"
                met &= right
            print(said)
    return met


def _meets(rounds: list[Round], *, keepalive: bool) -> bool:
    rate = statistics.median(_ratios(rounds, "loadtop", "requests_s"))
    cpu = statistics.median(_ratios(rounds, "loadtop", "cpu_us"))
    goal = RATE_GOALS[keepalive]
    met = rate >= goal and (not keepalive or cpu <= CPU_GOAL)
    wanted = f"at least {goal} x ab's requests/s" + (f" for at most {CPU_GOAL} x its CPU" if keepalive else "")
    print(f"{wanted}: {'yes' if met else 'NO'}")
    return met


if __name__ == "__main__":
    sys.exit(main())
