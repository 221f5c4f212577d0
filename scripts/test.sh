#!/usr/bin/env bash
# Runs groups of tests, each with as many workers as suit it: those that are named, or all. Other arguments are pytest's
# options; a file or a directory among them is tested as pytest would, on this machine as it is, by the group `fast`.
#   fast        tests/unit, tests/tui, with few made-up examples
#   properties  those of them that make up examples, with the full number
#   servers     tests/integration, side by side, with few made-up examples
#   covered     those of them that reach the most code in the least time, for coverage
#   locust      those of them that need Locust
#   engines     tests/engines, a few at a time: they need JMeter, and are in no run of all groups
#   quiet       those of them that need idle cores and leave them idle, a few at a time
#   alone       those of them that nothing may run beside, one by one
set -u
cd "$(dirname "$0")/.."
python=.venv/bin/python
groups=()
while [[ ${1:-} =~ ^(fast|properties|servers|covered|locust|engines|quiet|alone)$ ]]; do
    groups+=("$1")
    shift
done
((${#groups[@]})) || groups=(fast properties servers locust quiet alone)
for word in "$@"; do
    [[ -e ${word%%::*} ]] || continue
    [[ ${groups[0]} != fast ]] || exec $python -m pytest "$@"
    exit 0
done

# The one place where tests may write. Servers give up root and must get into it.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/loadtop-tests.XXXXXX")
trap 'rm -rf "$TMPDIR"' EXIT
chmod 755 "$TMPDIR"
# What speeds the next run up, and failing examples that hypothesis found. Everything else is read-only for the tests.
unset PYTHONDONTWRITEBYTECODE
export TMPDIR PYTHONPYCACHEPREFIX=$PWD/build/cache/python HYPOTHESIS_STORAGE_DIRECTORY=$PWD/build/cache/hypothesis

covered=(tune ssh_cli secrets collectors_layouts watch_tool_results completion engine_fake_jmeter doctor collectors_uwsgi
    experiment load_scaling session_marks collectors_apache collectors_tested command_line_private exec collectors_redis
    load_options load_restart ci_outputs session_housekeeping collectors_mysql baseline watch_command session_rights
    servers_demo ssh_asks session_reports profile collectors_haproxy collectors_nginx load_open ssh_readings cli)
covered=("${covered[@]/%/.py}")
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
if scripts/isolated_python -c '' 2>/dev/null; then
    isolated=yes
    together=$((4 * cores)) # many of them wait
    some=$((2 * cores))
    few=$cores
    idle=$((3 * cores / 2)) # each leaves most of a core idle
else
    isolated=
    together=1 some=1 few=1 idle=1 # two of them would find each other's servers
    echo "tests: no namespaces here (root on Linux has them), so tests share this machine's network and files" >&2
fi

run() { # the number of workers, and what they test; each group remembers its own failures for --last-failed
    local workers=("--numprocesses=$1")
    [[ ! $isolated ]] || workers=(--tx "$1*popen//python=$PWD/scripts/isolated_python")
    $python -m pytest -o cache_dir="build/cache/pytest/$group" --basetemp="$TMPDIR/p" --dist worksteal "${workers[@]}" "${@:2}"
}

marked() { grep -l "mark\.$1" tests/integration/*.py | sort -r; } # only these need to be imported; the longest come first

none=5 # pytest's exit code where an option (-k) left no test of a group
result=0
for group in "${groups[@]}"; do
    case $group in
        fast) run "$cores" --hypothesis-profile=few tests/unit tests/tui "$@" ;;
        properties) run "$cores" -m hypothesis tests/unit tests/tui tests/integration/test_statistics.py "$@" ;;
        servers) run "$together" --hypothesis-profile=few -m "not (locust or quiet or alone)" tests/integration "$@" ;;
        covered) run "$together" -m "not (locust or quiet or alone)" "${covered[@]/#/tests/integration/test_}" "$@" ;;
        locust) run "$some" -m locust $(marked locust) "$@" ;;
        engines) run "$few" -m engines tests/engines "$@" ;;
        quiet) run "$idle" -m quiet $(marked quiet) "$@" ;;
        alone) run 1 -m alone $(marked alone) "$@" ;;
    esac
    code=$?
    ((code == 0 || code == none)) || result=$code
done
exit "$result"
