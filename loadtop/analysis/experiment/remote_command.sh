# Runs the shell command $1 until it ends, or until standard input does: then the connection or loadtop is gone.
# What it leaves in the background, such as a server, stays only if it succeeded.
exec 3<&0
"${SHELL:-sh}" -c "$1" </dev/null 3<&- &
command=$!
watchers=
for _ in 1 2; do # whichever of these processes is killed, another one is left to end the command
    (
        while read -r _; do :; done
        trap '' TERM
        kill -TERM 0
        sleep 1
        kill -KILL 0
    ) <&3 >/dev/null 2>&1 &
    watchers="$watchers $!"
done
wait "$command"
code=$?
kill -KILL $watchers
trap '' TERM
[ "$code" = 0 ] || kill -TERM 0
exit "$code"
