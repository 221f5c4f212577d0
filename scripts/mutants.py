"""How many small mistakes in the code that must not be wrong would the unit tests find? ``make mutants [ONLY=word]``.

Every mutant (:mod:`scripts.mutations`) is tested in a fork of a process that has imported what there is to import, so
that thousands take minutes:

- A mistake in a function: a pytest session collects the tests once and notes which of them run which line. Each fork
  swaps the code of the function and runs the tests of the changed line, the quickest first, until one fails.
- A mistake in what runs at import (thresholds, tables, declarations): each fork begins before anything of ours is
  imported, imports the module with the mistake in it, and runs the tests that use the module.

Survivors are printed, marked NEW where scripts/survivors.md does not list them with a reason. Exit code 1
where fewer than :data:`LEAST_PCT` percent are killed.
"""

import argparse
import faulthandler
import functools
import gc
import importlib
import importlib.machinery
import importlib.util
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from coverage import Coverage
from hypothesis import Phase, settings

from scripts.mutations import Mutant, mutants_of

LEAST_PCT = 90.0
GROUPS = (  # code, and the tests that are about it
    (
        ("loadtop/rates/*.py",),
        (
            "tests/unit/test_rate*.py",
            "tests/unit/test_host_view.py",
            "tests/unit/test_htop.py",
            "tests/unit/test_nginx.py",
            "tests/unit/test_latch.py",
        ),
    ),
    (
        ("loadtop/diagnosis/*.py", "loadtop/servers/kind.py", "loadtop/servers/*/kind.py"),
        (
            *("tests/unit/test_diagnosis.py", "tests/unit/test_diagnosis_[!rc]*.py", "tests/unit/test_thresholds*.py"),
            *("tests/unit/test_latch.py", "tests/unit/test_waiting_law.py", "tests/unit/test_forecast.py"),
            *("tests/unit/test_verdicts.py", "tests/unit/test_nginx.py", "tests/unit/analysis/test_totals_servers.py"),
            *("tests/unit/analysis/tune/test_pool_memory.py", "tests/unit/analysis/tune/test_sizing.py"),
            *("tests/unit/test_worker_pools.py", "tests/unit/test_doctor.py", "tests/unit/test_databases.py"),
            *("tests/unit/test_dependency.py", "tests/unit/test_breakdown.py"),
        ),
    ),
    (
        (
            *("loadtop/model/histogram.py", "loadtop/analysis/statistic.py"),
            *("loadtop/analysis/significance.py", "loadtop/analysis/tune/sizing.py"),
        ),
        (
            *("tests/unit/generator/test_histogram.py", "tests/unit/analysis/test_significance*.py"),
            *("tests/unit/analysis/tune/test_bounds.py", "tests/unit/analysis/tune/test_sizing.py"),
            "tests/unit/analysis/test_statistic.py",
        ),
    ),
    (
        (
            *("collectors/parsing.py", "collectors/linux/*.py", "collectors/apache/*.py", "collectors/haproxy/*.py"),
            *("collectors/nginx/*.py", "collectors/php_fpm/*.py", "collectors/redis/*.py", "collectors/mysql/*.py"),
            *("collectors/postgresql/*.py", "collectors/sql_session.py", "collectors/uwsgi/*.py"),
            "collectors/gunicorn/*.py",
        ),
        ("tests/unit/collectors",),
    ),
    (
        ("loadtop/engines/output.py", "loadtop/engines/tools.py", "loadtop/engines/jmeter/result_file.py"),
        (
            *("tests/unit/engines/test_output.py", "tests/unit/engines/test_tools.py"),
            "tests/unit/engines/test_jmeter_result_file.py",
        ),
    ),
)
REASONS = Path("scripts/survivors.md")
# pytest's own form of a traceback fails where an instruction has no line, as some of a mistake have.
OPTIONS = ("-qs", "--tb=native", "-pno:cacheprovider", "-otimeout=10", "-Wignore::pytest.PytestAssertRewriteWarning")
HEAVY = ("aiohttp", "httptools", "msgspec", "numpy", "psutil", "rich", "textual.app", "uvloop", "zstandard")
"""Imported before the forks for mistakes at import, which would otherwise spend their time on that."""

EXAMPLES = 40  # of each test of hypothesis
MEMORY_BYTES = 3 << 30  # a loop without end may not take all memory before its time is over
CLOSEST = 3  # files of tests that run first where a mistake is made at import

CACHED = type(functools.lru_cache(lambda: None))

LONGEST_S = 120.0  # a fork that takes longer hangs: a test has found the mistake, but cannot end

SURVIVED, KILLED, BROKEN = range(3)  # exit codes of a fork; a signal has killed the mutant too

progress = os.fdopen(os.dup(2), "w")


class Chosen:
    """A pytest plugin that runs only some tests, in this order, each of hypothesis with the same examples every time
    and without looking for a smaller one."""

    def __init__(self, names: Sequence[str]) -> None:
        self._order = {name: place for place, name in enumerate(names)}

    def pytest_collection(self) -> None:
        settings.register_profile(
            "mutants",
            settings(),
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            phases=(Phase.explicit, Phase.generate),
        )
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._order:
            kept = [item for item in items if item.nodeid in self._order]
            items[:] = sorted(kept, key=lambda item: self._order[item.nodeid])


class Session(Chosen):
    """Runs every test once, noting its time and the lines that it runs, and then the mutants in functions."""

    def __init__(self, mutants: Sequence[Mutant]) -> None:
        super().__init__(())
        self.survivors: list[int] = []
        self.failed: list[str] = []
        self._mutants = mutants
        self._items: dict[str, pytest.Item] = {}
        self._tests: dict[str, dict[int, list[str]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()  # what tests/conftest.py froze is searched below
        self._items = {item.nodeid: item for item in session.items}
        forget = _forgetting({mutant.module for mutant in self._mutants})
        self._learn({str(mutant.path.resolve()) for mutant in self._mutants}, forget)
        if self.failed:
            return True
        print(f"{len(self._items)} tests pass without a mistake", file=progress, flush=True)
        functions: dict[str, list[FunctionType]] = defaultdict(list)
        for known in gc.get_objects():
            if isinstance(known, FunctionType):
                functions[known.__code__.co_filename].append(known)
        for call in forget:
            call()
        gc.freeze()

        def test(number: int) -> int:
            mutant = self._mutants[number]
            _swap(mutant, functions[str(mutant.path.resolve())])
            return SURVIVED if self._run(self._items[name] for name in self.relevant(mutant)) else KILLED

        deferred = [number for number, mutant in enumerate(self._mutants) if mutant.deferred]
        self.survivors = in_forks(deferred, test)
        return True

    def relevant(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutant's statement; those of any line of the module where it runs at import."""
        lines = self._tests.get(str(mutant.path.resolve()), {})
        found = {name for line, names in lines.items() if not mutant.deferred or line in mutant.lines for name in names}
        return [name for name in self._items if name in found]

    def _learn(self, paths: Iterable[str], forget: Sequence[Callable[[], None]]) -> None:
        coverage = Coverage(data_file=None, config_file=False, include=list(paths))
        took: dict[str, float] = {}
        with coverage.collect():
            for name, item in self._items.items():
                for call in forget:  # else the lines would count for the first test alone
                    call()
                coverage.switch_context(name)
                began = time.perf_counter()
                self._run([item])
                took[name] = time.perf_counter() - began
        data = coverage.get_data()
        for path in data.measured_files():
            lines = data.contexts_by_lineno(path).items()
            self._tests[path] = {line: [name for name in names if name] for line, names in lines}
        self._items = {name: self._items[name] for name in sorted(took, key=lambda name: took[name])}

    def _run(self, items: Iterable[pytest.Item]) -> bool:
        """Whether all of these tests pass; the first that fails is the last that runs."""
        for item in items:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if self.failed:
                return False
        return True


def in_forks(numbers: Sequence[int], test: Callable[[int], int]) -> list[int]:
    """The mutants that survive. Each is tested in a fork of its own, as many at a time as there are cores."""
    running: dict[int, int] = {}
    survivors: list[int] = []
    waiting = iter(numbers)
    done = 0
    while True:
        while len(running) < (os.cpu_count() or 1) and (number := next(waiting, None)) is not None:
            running[_fork(number, test)] = number
        if not running:
            return survivors
        pid, status = os.wait()
        if (number := running.pop(pid, None)) is None:
            continue
        code = os.waitstatus_to_exitcode(status)
        if code == BROKEN:
            raise RuntimeError(f"mutant {number} cannot be tested")
        if code == SURVIVED:
            survivors.append(number)
        done += 1
        if done % 100 == 0 or done == len(numbers):
            print(f"{done} of {len(numbers)}: {len(survivors)} survived", file=progress, flush=True)


def _fork(number: int, test: Callable[[int], int]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = BROKEN
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        faulthandler.dump_traceback_later(LONGEST_S, exit=True)  # exits with 1, which is KILLED
        code = test(number)
    except BaseException:
        traceback.print_exc(file=progress)
    finally:
        progress.flush()
        os._exit(code)


def _forgetting(modules: Collection[str]) -> list[Callable[[], None]]:
    """Calls that make the cached functions of these modules forget what they computed."""
    return [
        known.cache_clear for known in gc.get_objects() if isinstance(known, CACHED) and known.__module__ in modules
    ]


def _swap(mutant: Mutant, functions: Iterable[FunctionType]) -> None:
    """Put the mistake into the functions of the module that there are, in every module that has imported them."""
    path = mutant.path.resolve()
    old, new = _codes(compile(path.read_bytes(), str(path), "exec")), _codes(mutant.compiled())
    changed = {code: new[key] for key, code in old.items() if key in new}
    for function in functions:
        if function.__code__ in changed:
            function.__code__ = changed[function.__code__]


def _codes(module: CodeType) -> dict[tuple[str, int, int], CodeType]:
    """All code in a module by qualified name and line, numbered where those are the same."""
    found: dict[tuple[str, int, int], CodeType] = {}
    seen = Counter[tuple[str, int]]()
    waiting = [module]
    while waiting:
        code = waiting.pop()
        key = (code.co_qualname, code.co_firstlineno)
        found[(*key, seen[key])] = code
        seen[key] += 1
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


class Importer(importlib.machinery.SourceFileLoader):
    """Finds and loads one module, with a mistake in it."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path.resolve()))
        self._code = mutant.compiled()

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def get_code(self, fullname: str) -> CodeType | None:
        return self._code if fullname == self.name else None


def in_functions(mutants: Sequence[Mutant], tests: Sequence[str]) -> tuple[list[int], dict[int, list[str]]]:
    """The survivors of the mistakes in functions, and the tests to be run for each of the others."""
    _silence()
    session = Session(mutants)
    code = pytest.main([*OPTIONS, *tests], plugins=[session])
    if code or session.failed:
        raise RuntimeError(f"the tests fail without any mistake: {code}, {', '.join(session.failed)}")
    return session.survivors, {n: session.relevant(each) for n, each in enumerate(mutants) if not each.deferred}


def at_import(mutant: Mutant, tests: Sequence[str]) -> int:
    _silence()
    sys.meta_path.insert(0, Importer(mutant))
    files = [name for name, _ in Counter(name.partition("::")[0] for name in tests).most_common()]
    with tempfile.TemporaryDirectory() as own:  # or forks would remove each other's directories
        for some in filter(None, (files[:CLOSEST], files[CLOSEST:])):
            if pytest.main([*OPTIONS, "-x", f"--basetemp={own}/tests", *some], plugins=[Chosen(tests)]):
                return KILLED
    return SURVIVED


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _summary(mutants: Sequence[Mutant], survivors: Sequence[Mutant]) -> Iterator[str]:
    reasons = REASONS.read_text("utf-8").splitlines()
    for mutant in survivors:
        places = (f"- {mutant.where}: ", f"- {mutant.path}: ")
        listed = any(line.startswith(places) and mutant.label in line for line in reasons)
        yield f"{'' if listed else 'NEW '}{mutant}"
    left = Counter(mutant.path for mutant in survivors)
    for path, number in Counter(mutant.path for mutant in mutants).items():
        yield f"{100 * (1 - left[path] / number):6.1f} % of {number:5} killed in {path}"


def survivors_of(mutants: Sequence[Mutant], tests: Sequence[str]) -> list[Mutant]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as session:
        survivors, names = session.submit(in_functions, mutants, tests).result()
    survivors += in_forks(list(names), lambda number: at_import(mutants[number], names[number]))
    return [mutants[number] for number in sorted(survivors)]


def main() -> int:
    parser = argparse.ArgumentParser(description="test the tests with small mistakes")
    parser.add_argument("only", nargs="?", default="", help="modules with this in their path")
    only: str = parser.parse_args().only
    began = time.monotonic()
    for name in HEAVY:
        importlib.import_module(name)
    mutants: list[Mutant] = []
    survivors: list[Mutant] = []
    for code, tests in GROUPS:
        paths = [path for path in _paths(code) if only in str(path)]
        if group := [mutant for path in paths for mutant in mutants_of(path)]:
            mutants += group
            survivors += survivors_of(group, [str(path) for path in _paths(tests)])
    for line in _summary(mutants, survivors):
        print(line)
    killed = 100 * (1 - len(survivors) / max(1, len(mutants)))
    print(f"{killed:.1f} % of {len(mutants)} mutants killed in {time.monotonic() - began:.0f} s")
    return 0 if killed >= LEAST_PCT else 1


def _paths(patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(Path().glob(pattern))]


if __name__ == "__main__":
    sys.exit(main())
