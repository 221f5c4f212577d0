#!/usr/bin/env bash
# Every test. First those that measure nothing, side by side; then those with real servers, side by side too where each
# worker can have processes and a loopback network of its own (root on Linux); then, one after the other, those that
# measure time or load the whole machine (`alone`). Arguments are pytest's options, for all parts; a file or a directory
# among them is tested alone.
set -u
cd "$(dirname "$0")/.."
python=.venv/bin/python
calm=(tests/unit tests/tui tests/packaging)
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
for word in "$@"; do
    [[ ! -e ${word%%::*} ]] || exec $python -m pytest "$@"
done
none=5 # pytest's exit code where an option left no test
codes=()

run() {
    $python -m pytest "$@"
    codes+=("$?")
}

beside=()
if scripts/isolated_python -c '' 2>/dev/null; then
    beside=(--dist worksteal --tx "$((2 * cores))*popen//python=$PWD/scripts/isolated_python")
fi
run --numprocesses "$((cores + 1))" --dist worksteal "${calm[@]}" "$@"
together=(-m "not alone" tests/integration "$@")
if ((${#beside[@]})); then
    run -p no:rerunfailures "${beside[@]}" "${together[@]}"
    if [[ ${codes[-1]} == 1 ]]; then # what failed beside others has another try alone
        unset 'codes[-1]'
        run --last-failed --last-failed-no-failures none "${together[@]}"
    fi
else
    run "${together[@]}"
fi
run -m alone tests/integration tests/lab "$@"

for code in "${codes[@]}"; do
    [[ $code == 0 || $code == "$none" ]] || exit "$code"
done
[[ ${codes[*]} != "$none $none $none" ]] || exit "$none"
