# Runs one process of another engine in a directory of its own (LOADTOP_DIRECTORY, or a new one), until standard input ends
# or is silent for 15 s. The tool is stopped while standard input is silent for 2 s.
# The text before this one defines functions: need checks what must be installed, tool runs the engine, clean_up ends what it
# started elsewhere, quit (optional) asks it to end. need and tool get the arguments.
# Input: lines with the name and the base64 text of a file, a line with a dot and a port, then heartbeats: "stop" asks the tool
# to end, other lines mean nothing. Standard output has the tool's data, standard error its messages and our events
# ("loadtop:directory PATH", "loadtop:missing PROGRAM", "loadtop:ended CODE"). Nothing is left when it ends.
umask 077
exec 4>&1 1>&2
PATH="$PATH:$HOME/.local/bin:/usr/local/bin"
need "$@" || exit 127
command -v base64 >/dev/null 2>&1 || { echo "loadtop:missing base64"; exit 127; }
main=$$
d=${LOADTOP_DIRECTORY:-$(mktemp -d "${TMPDIR:-/tmp}/loadtop.XXXXXXXX")} || exit 73
unset LOADTOP_DIRECTORY
end() {
    trap '' EXIT TERM HUP INT PIPE
    clean_up
    rm -rf "$d" 2>/dev/null # the engine may still write there
    kill -TERM 0
    sleep 0.4
    for _ in 1 2 3 4 5 6 7 8 9 10; do # it may write there while the directory is removed
        rm -rf "$d" 2>/dev/null && break
        sleep 0.2
    done
    kill -KILL 0
}
trap end EXIT TERM HUP INT
signal_tool() { # the tool and its descendants
    pids=$(ps -A -o pid= -o ppid= | awk -v tool="$tool_pid" '
        { parent[$1] = $2 }
        END {
            for (pid in parent) {
                for (each = pid; each in parent && each != tool;) each = parent[each]
                if (each == tool) print pid
            }
        }')
    kill -s "$1" $pids 2>/dev/null
}
echo "loadtop:directory $d"
while read -r name text && [ "$name" != . ]; do
    printf %s "$text" | base64 -d > "$d/$name" || exit 74
done
[ "$name" = . ] || exit 74
port=$text
cd "$d" || exit 73
echo 0 > silence
(
    trap : TERM
    tool "$@"
    echo "loadtop:ended $?"
    kill -HUP "$main"
) </dev/null &
tool_pid=$!
(
    trap : TERM
    while sleep 1 || :; do
        kill -0 "$main" || end
        read -r n < silence || n=0
        n=$((n + 1))
        [ "$n" -ne 2 ] || signal_tool STOP
        [ "$n" -lt 15 ] || kill -HUP "$main"
        echo "$n" > silence
    done
) 2>/dev/null 4>&- &
exec 4>&-
while read -r line; do
    read -r n < silence || n=2 # it is just being written
    echo 0 > silence
    [ "$n" -lt 2 ] || signal_tool CONT
    [ "$line" != stop ] || quit
done
