# What is asked for rarely, in any POSIX shell of the machine that is watched (`loop.sh` runs it). `me` is our first process
# there, and `perl` is set where that reads the samples. Paths are split into words and never evaluated. No secret is an
# argument of a process, which everybody there could read.
# Runs a command for so many seconds at most: a dead file system, or a process deep in swap, can hold it up for ever.
# What runs beside the loop ends by itself where the loop is killed.
if timeout -s KILL 9 true 2>/dev/null; then
    within() { timeout -s KILL "$@"; }
else
    within() {
        limit=$1
        shift
        "$@" &
        set -- $!
        (sleep "$limit"; kill -KILL "$1") >/dev/null 2>&1 &
        set -- "$1" $!
        {
            wait "$1"
            limit=$?
            kill "$2"
            wait "$2"
        } 2>/dev/null
        return "$limit"
    }
fi
# What a command prints and complains of; no awk but gawk can pass a zero byte on. (Perl reads files itself.)
shown() {
    within "$@" 2>&1 | tr "\\000" "\\001"
    echo
}
# The beginning of files that anyone may have put there, in the form of head. A pipe or a device is not opened, and what
# says that it is empty is not read: some of the files of the kernel say so and wait.
regular='
    limit=$1
    shift
    echo "==> /dev/null <=="
    for file; do
        shift
        if [ -f "$file" ] && [ -s "$file" ] || [ ! -e "$file" ]; then
            set -- "$@" "$file"
        elif [ -f "$file" ]; then
            printf "\n==> %s <==\n" "$file"
        else
            echo "head: $file: not a regular file"
        fi
    done
    echo
    exec head -c "$limit" /dev/null "$@"
'
profile=@PROFILE@
# The sockets among the links that ls prints: a process and a socket a line; with `wanted`, only those.
held='
    /^[0-9]+\/fd:$/ { pid = $1 + 0 }
    /^l/ && NF <= 11 && $(NF - 1) == "->" && (many ? $NF in wanted : $NF ~ /^socket:/) { print pid, $NF }
'
# One order; fails if it is for another program.
answer() {
    case $order in
    # who we are: our first process, bytes of a page, who can tell of accept queues
    i) printf "%s %s %s\n" "$me" "$(getconf PAGESIZE 2>&1 || :)" "$perl $(command -v ss || :)" ;;
    # the first bytes of the files of the kernel, and of others; the links of a directory; listening sockets, those at
    # some ports in any case
    h) shown 2 head -c $rest ;;
    c) shown 2 sh -c "$regular" sh $rest ;;
    d) within 1 ls -ln "$rest" 2>&1 | head -c @LIMIT@; echo ;;
    q) within 2 ss -ltnH 2>&1 | awk -v "ports=,$rest," '{ n = split($4, at, ":") } NR <= @DEVICES@ || index(ports, "," at[n] ",")' ;;
    # clocks of TCP connections, where no perl can ask the kernel for them
    j) within 2 ss -tnieH state established state listening 2>&1 | awk -v "limit=$rest" '@CLOCKS@' ;;
    # which processes hold sockets: a process and a socket a line. Anyone can open millions of files, for which a second
    # of a processor is spent, and give one a name that looks like another line.
    o) (set +f; ulimit -t 1; export QUOTING_STYLE=escape TIME_STYLE=locale; within 4 ls -ln [0-9]*/fd 2>&1) | awk -v "inodes=$rest" '
        BEGIN { many = split(inodes, inode, " "); for (i = 1; i <= many; i++) wanted["socket:[" inode[i] "]"] }
        '"$held" ;;
    # which sockets some processes hold: with a file among them, ls prints the name of each directory
    l) (export QUOTING_STYLE=escape TIME_STYLE=locale
        within 2 ls -ln /dev/null $(for pid in $rest; do echo "$pid/fd"; done) 2>&1) | awk "$held" ;;
    # the inodes and the paths of files that processes have open; of millions of files, the pattern alone takes seconds
    x) (export QUOTING_STYLE=escape TIME_STYLE=locale
        for pid in $rest; do within 1 sh -c 'ls -Lid "$1"/fd/*; ls -nd "$1"/fd/*' sh "$pid"; done 2>/dev/null) | awk '
        NF == 2 { inode[$2] = $1 }
        /^l/ && NF <= 11 && $(NF - 1) == "->" && $NF ~ /^\// && $(NF - 2) in inode { print inode[$(NF - 2)], $NF }' ;;
    # a table of sockets without those in TIME_WAIT, where no perl can ask the kernel for it
    v) set -- $rest; within 2 awk '$4 != "@TIME_WAIT@"' "$2" 2>&1 | head -c "$1" ;;
    # queueing disciplines, the classes of those of HTB, and filters at the ingress, where there is a tc; perhaps in the
    # network of a process
    y) set -- $rest; ! command -v tc >/dev/null || within 2 ${2:+nsenter -t "$2" -n} sh -c '
        shown=$(tc -s qdisc show)
        echo "$shown"
        case $shown in *"qdisc htb "*|*"qdisc ingress "*|*"qdisc clsact "*) ;; *) exit ;; esac
        echo "$shown" | awk "/^qdisc htb / && / root / && many++ < 16 { print \$5 }" | while read -r device; do
            echo "dev $device"
            tc -s class show dev "$device"
        done
        echo "$shown" | awk "/^qdisc (ingress|clsact) / && many++ < 16 { print \$5 }" | while read -r device; do
            echo "dev $device"
            tc -s filter show dev "$device" ingress
        done' 2>&1 | head -c "$1" ;;
    # addresses of names; a resolver that does not answer holds up this once, by a second
    r) for name in $rest; do echo "name $name"; within 1 getent ahosts "$name" 2>&1; case $? in 124|137) break ;; esac; done ;;
    # what a process deep in swap can hold up: beside everything else, on the other stream
    b) (set -- $rest; mark=$1; shift; for pid; do set -- "$@" "$pid/smaps_rollup"; shift; done; printf "\n#%s\n" "$mark"; within @MEMORY_S@ head -c 4096 /dev/null "$@" 2>&1; printf "\n#%s.\n" "$mark") >&2 & ;;
    # where the CPU time goes, which takes some seconds: beside everything else too
    a) (mark=${rest%% *}; printf "\n#%s\n" "$mark"; within @PROFILE_S@ sh -c "$profile" sh "$me" ${rest#* } 2>/dev/null; printf "\n#%s.\n" "$mark") >&2 & ;;
    *) return 1 ;;
    esac
    return 0
}
