# Prints where the CPU time goes: the tool and the machine's architecture, then a line for each stack: a count, a process
# and its functions, callers first. It keeps no file, and ends soon after the process that wants it has.
# Arguments: that process, seconds, and processes of interest, the busiest first.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
owner=$1 seconds=$2
shift 2
tick=.1 turns=$((seconds * 10))
sleep .1 2>/dev/null || tick=1 turns=$seconds
meanwhile="turn=0; while [ -d /proc/$owner ] && [ \$((turn += 1)) -le $turns ]; do sleep $tick; done"
# The most frequent stacks; what is left out is added up.
bounded() {
    sort -rn | awk '
        { if ((bytes += length($0) + 1) < 60000 && NR <= 1000) print; else rest += $1 }
        END { if (rest) print rest, "(other)" }'
}
shown() { if [ "$2" ]; then echo "$1 $(uname -m)"; echo "$2" | bounded; exit; fi; }
# Blocks of a process and its functions, the innermost first, after a number or an address. Those without a name are
# dropped; the one that ran has that of its library then.
folded() {
    awk -v "name=$1" '
        function end() {
            if (process != "" && process != "swapper") many[process (depth ? stack : "")]++
            process = name; stack = ""; depth = 0
        }
        BEGIN { process = name }
        /^[ \t#-]*$/ { if (depth || name == "") end(); next }
        process != "" && (name == "" ? /^[ \t]+[0-9a-f]+ / : /^[0-9]+ /) {
            sub(/^[ \t]*[0-9a-f]+ /, "")
            gsub(/;/, ":")
            if (name == "" && match($0, / \([^()]*\)$/)) {
                library = substr($0, RSTART + 2, RLENGTH - 3)
                $0 = substr($0, 1, RSTART - 1)
                if ($0 == "[unknown]" && !depth) { sub(/.*\//, "", library); $0 = "[" library "]" }
            }
            if (depth < 60 && (!depth || $0 != "[unknown]")) { stack = ";" substr($0, 1, 80) stack; depth++ }
            next
        }
        name == "" { process = $0; sub(/ +$/, "", process); gsub(/;/, ":", process) }
        END { if (depth) end(); for (each in many) print many[each], each }'
}
name_of() { { read -r name <"/proc/$1/comm"; } 2>/dev/null && echo "$name"; }
python= php= own=
for pid; do
    case $(name_of "$pid") in
        *python* | gunicorn* | uwsgi*) python=${python:-$pid} ;;
        *php* | apache2 | httpd) php=${php:-$pid} ;;
    esac
    if [ -r "/proc/$pid/environ" ]; then own=$own,$pid; fi
done
profilers() {
    if [ "$python" ] && command -v py-spy >/dev/null; then
        shown py-spy "$($1 py-spy record -d "$seconds" -r 99 -f raw --nonblocking -o /dev/stdout -p "$python" \
            2>/dev/null </dev/null | awk -v "name=$(name_of "$python")" '
                / [0-9]+$/ && !/^py-spy>/ { count = $NF; sub(/ [0-9]+$/, ""); print count, name ";" $0 }')"
    fi
    if [ "$php" ] && command -v phpspy >/dev/null; then
        shown phpspy "$($1 phpspy -H 99 -i "${seconds}000" -p "$php" 2>/dev/null </dev/null |
            folded "$(name_of "$php")")"
    fi
    command -v perf >/dev/null || return
    for whose in -a ${own:+"-p ${own#,}"}; do
        shown perf "$($1 perf record -q -F 99 -g -o - $whose -- sh -c "$meanwhile" 2>/dev/null </dev/null |
            $1 perf script -i - -F comm,ip,sym,dso --no-inline 2>/dev/null | folded)"
    done
}
profilers nice
if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null </dev/null; then profilers "sudo -n nice"; fi
stats() { for pid; do cat "/proc/$pid/stat" 2>/dev/null; done; }
echo "/proc $(uname -m)"
{
    stats "$@"
    turn=0
    while [ -d "/proc/$owner" ] && [ $((turn += 1)) -le "$turns" ]; do
        for pid; do { read -r call rest <"/proc/$pid/syscall" && echo "call $pid $call"; } 2>/dev/null; done
        sleep $tick
    done
    stats "$@"
} | awk '
    $1 == "call" { if ($3 ~ /^[0-9]+$/) calls[$2, $3]++; next }
    {
        pid = $1; name = $0; rest = $0
        sub(/^[0-9]+ \(/, "", name); sub(/\) [^)]*$/, "", name); gsub(/;/, ":", name); names[pid] = name
        sub(/^.*\) /, "", rest); split(rest, field, " ")
        if (pid in user) {
            if (field[12] > user[pid]) print field[12] - user[pid], name ";" pid ";user"
            if (field[13] > system_[pid]) print field[13] - system_[pid], name ";" pid ";system"
        } else { user[pid] = field[12]; system_[pid] = field[13] }
    }
    END { for (each in calls) { split(each, part, SUBSEP); print "call", calls[each], names[part[1]] ";" part[2] } }' |
    head -c 60000
