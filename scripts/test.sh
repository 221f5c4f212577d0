#!/usr/bin/env bash
# Runs tests, each group with as many workers as suit it: `fast` (tests/unit, tests/tui), `servers` (tests/integration);
# both without such a word. Other arguments are pytest's options, for every group; a file or a directory among them is
# tested as pytest would, on this machine as it is.
set -u
cd "$(dirname "$0")/.."
python=.venv/bin/python
groups=(fast servers)
case ${1:-} in fast | servers) groups=("$1"); shift ;; esac
for word in "$@"; do
    [[ ! -e ${word%%::*} ]] || exec $python -m pytest "$@"
done

# The one place where tests may write. Servers give up root and must get into it.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/loadtop-tests.XXXXXX")
trap 'rm -rf "$TMPDIR"' EXIT
chmod 755 "$TMPDIR"
# What speeds the next run up, and failing examples that hypothesis found. Everything else is read-only for the tests.
unset PYTHONDONTWRITEBYTECODE
export TMPDIR PYTHONPYCACHEPREFIX=$PWD/build/cache/python HYPOTHESIS_STORAGE_DIRECTORY=$PWD/build/cache/hypothesis

cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
if scripts/isolated_python -c '' 2>/dev/null; then
    isolated=yes
    together=$((2 * cores)) # they mostly wait
else
    isolated=
    together=1 # two of them would find each other's servers
    echo "tests: no namespaces here (root on Linux has them), so tests share this machine's network and files" >&2
fi
none=5 # pytest's exit code where an option left no test
codes=()

run() { # the number of workers, and what they test
    local workers=("--numprocesses=$1")
    [[ ! $isolated ]] || workers=(--tx "$1*popen//python=$PWD/scripts/isolated_python")
    $python -m pytest --basetemp="$TMPDIR/p" --dist worksteal "${workers[@]}" "${@:2}"
    codes+=("$?")
}

for group in "${groups[@]}"; do
    case $group in
        fast) run "$((cores + 1))" tests/unit tests/tui "$@" ;;
        servers)
            run "$together" -m "not alone" tests/integration "$@"
            run 1 -m alone tests/integration "$@"
            ;;
    esac
done

result=$none
for code in "${codes[@]}"; do
    case $code in
        0) result=0 ;;
        "$none") ;;
        *) exit "$code" ;;
    esac
done
exit "$result"
