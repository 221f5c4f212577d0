"""The targets under a coverage-guided fuzzer: ``python -m tests.fuzz.run [--seconds S] [TARGET ...]``.

Each target has a share of the time in a process of its own, as many at once as there are cores. What it finds is left
in ``build/fuzz/TARGET``; copied to ``tests/fixtures/fuzz/TARGET`` it is a test. ``--input FILE TARGET`` feeds one.
"""

import argparse
import importlib
import multiprocessing
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.targets import FuzzTarget

BUILD = Path(__file__).parents[2] / "build" / "fuzz"
LONGEST = 4096  # bytes of an input
MEMORY_MB = 1024  # of a process of the fuzzer, with its coverage
HANGS_S = 5  # seconds after which an input counts as one that never ends


def load_targets() -> "dict[str, FuzzTarget]":
    """Import the parsers with what measures their coverage, which takes a while, and return their targets."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["loadtop", "collectors"], enable_loader_override=False):
        from tests.fuzz.targets import TARGETS
    return {target.name: target for target in TARGETS}


def log_of(name: str) -> Path:
    return BUILD / name / "log"


def fuzz(target: "FuzzTarget", seconds: int) -> None:
    """Run the fuzzer in this process, which it ends. What reaches new code stays in the corpus for the next time."""
    atheris: Any = importlib.import_module("atheris")
    corpus = BUILD / target.name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.inputs()):
        (corpus / f"begin-{number}").write_bytes(data[:LONGEST])
    with log_of(target.name).open("wb") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)
    options = {
        "max_total_time": seconds,
        "max_len": LONGEST,
        "timeout": HANGS_S,
        "rss_limit_mb": MEMORY_MB,
        "artifact_prefix": f"{BUILD / target.name}/",
    }

    def one_input(data: bytes) -> None:
        try:
            target(data)
        except Exception:
            (BUILD / target.name / f"found-{zlib.crc32(data):08x}").write_bytes(data)
            raise

    atheris.Setup([target.name, *(f"-{option}={value}" for option, value in options.items()), str(corpus)], one_input)
    atheris.Fuzz()


def fuzz_all(targets: "Sequence[FuzzTarget]", seconds: int) -> bool:
    """Fuzz the targets, each for its share of the time; return whether nothing was found."""
    at_once = os.cpu_count() or 1
    share = max(1, seconds * at_once // len(targets))
    context = multiprocessing.get_context("fork")
    calm = True
    for begin in range(0, len(targets), at_once):
        running = [
            (each, context.Process(target=fuzz, args=(each, share))) for each in targets[begin : begin + at_once]
        ]
        for _, process in running:
            process.start()
        for target, process in running:
            process.join()
            print(f"{target.name}: {'FOUND' if process.exitcode else f'nothing found in {share} s'}", flush=True)
            if process.exitcode:
                calm = False
                print(log_of(target.name).read_text(errors="replace")[-2000:], file=sys.stderr)
    return calm


def main(words: Sequence[str]) -> int:
    """1 if anything was found."""
    parser = argparse.ArgumentParser(description="feed made-up inputs to every parser of data from outside")
    parser.add_argument("--seconds", type=int, default=60, help="in all (60)")
    parser.add_argument("--input", type=Path, help="feed this file to the target, and nothing else")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    options = parser.parse_args(words)
    if options.input is not None:
        from tests.fuzz.targets import target_named

        target_named(options.targets[0])(options.input.read_bytes())
        return 0
    known = load_targets()
    if not known.keys() >= set(options.targets):
        parser.error(f"TARGET is one of {', '.join(known)}")
    return 0 if fuzz_all([known[name] for name in options.targets or known], options.seconds) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
