#!/usr/bin/env bash
# Every test. First those that measure nothing, side by side on all cores (one process more than there are cores, since a
# screen under test waits now and then); then those with real servers, one after the other, for they measure time.
# Words are pytest's options, for both parts; where one is a file or directory, only that is tested.
set -u
cd "$(dirname "$0")/.."
calm=(tests/unit tests/tui tests/packaging)
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
for word in "$@"; do
    [[ ! -e ${word%%::*} ]] || exec .venv/bin/python -m pytest "$@"
done
none=5 # what pytest ends with where an option left no test
codes=()

run() {
    .venv/bin/python -m pytest "$@"
    codes+=("$?")
}

run --numprocesses "$((cores + 1))" --dist worksteal "${calm[@]}" "$@"
run tests "${calm[@]/#/--ignore=}" "$@"

for code in "${codes[@]}"; do
    [[ $code == 0 || $code == "$none" ]] || exit "$code"
done
[[ ${codes[*]} != "$none $none" ]] || exit "$none"
