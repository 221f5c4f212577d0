# Runs on the machine that is watched, for as long as the connection lives, in any POSIX shell. It arrives over standard
# input, is kept in no file, and ends when its input does. Every line that it reads is one order. A perl beside it
# (`read.pl`), or else an awk (`read.awk`), reads all that a sample needs: it starts no process for it, which would cost
# more than everything that is measured. The perl also asks the kernel for sockets (`queues.pl`), and takes several orders
# on one line, with tabs between them; for awk, the shell lists the processes. The shell itself does what is asked for
# rarely: what it prints then goes through the same program, which passes on every line that does not begin with the
# secret word. Paths are split into words and never evaluated. No secret is an argument of a process, which everybody
# there could read.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
unset IFS PERL5OPT PERLIO PERL_UNICODE
key=@KEY@
cd /proc || exit 1
set -f
# mawk waits for a full buffer of orders unless it is told to read line by line, and then does so everywhere; no other awk
# knows that option
now=
command -v awk >/dev/null || { echo "awk: not found" >&2; exit 127; }
case $(awk -W version 2>&1 </dev/null) in mawk*) now='-W interactive -v lines=1' ;; esac
perl=
case $(perl -e 'print 1 x 3' 2>&1 </dev/null) in 111) perl=perl ;; esac
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
# What a command prints and complains of; no awk but gawk can pass a zero byte on.
shown() {
    if [ "$perl" ]; then within "$@" 2>&1; else within "$@" 2>&1 | tr "\\000" "\\001"; fi
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
# Where nothing is heard for so long, the machine at the other end is gone, which TCP may never find out. Not every shell
# knows the option; a perl in its place stops then.
patience='-t @SILENCE@'
(echo | read -r $patience now) 2>/dev/null || patience=
tab=$(printf "\t")
last=
waits=
tasks=
loop() {
while read -r $patience order rest; do
    case $perl$order$rest in
    perl[stloDW]*|*"$tab"*) printf "%s %s %s\n" "$key" "$order" "$rest"; continue ;;
    esac
    case $order in
    # a sample of what awk was told of: a mark, and files wanted this time only
    s)
        set +f
        if [ "$waits" ]; then
            set -- $waits
            [ $# -lt 2000 ] || set --
            if [ "$*" != "$tasks" ]; then
                tasks="$*"
                printf "%s t %s\n" "$key" "$tasks"
            fi
        fi
        set -- [0-9]*
        set -f
        if [ "$*" != "$last" ]; then
            last="$*"
            printf "%s l %s\n" "$key" "$last"
        fi
        printf "%s s %s\n" "$key" "$rest"
        ;;
    # threads of which is wanted how long they waited for a processor, all those of a process by a pattern
    t) tasks= waits=; case $rest in *"*"*) waits=$rest ;; *) printf "%s t %s\n" "$key" "$rest" ;; esac ;;
    # who we are: this shell, bytes of a page, who can tell of accept queues
    i) printf "%s %s %s\n" "$$" "$(getconf PAGESIZE 2>&1 || :)" "$perl $(command -v ss || :)" ;;
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
    b) (set -- $rest; mark=$1; shift; for pid; do set -- "$@" "$pid/smaps_rollup"; shift; done; printf "\n#%s\n" "$mark"; within 4 head -c 4096 /dev/null "$@" 2>&1; printf "\n#%s.\n" "$mark") >&2 & ;;
    # where the CPU time goes, which takes some seconds: beside everything else too
    a) (mark=${rest%% *}; printf "\n#%s\n" "$mark"; within @PROFILE_S@ sh -c "$profile" sh $$ ${rest#* } 2>/dev/null; printf "\n#%s.\n" "$mark") >&2 & ;;
    *) printf "%s %s %s\n" "$key" "$order" "$rest" ;;
    esac
done
}
# The shell that waits for the awk ends the loop when that has ended (as it also does where the perl has). By itself the
# loop would not find out before the next order, which does not come while this one is not answered.
feed() {
    read -r me rest <self/stat
    echo "$me"
    echo "$key"
    loop
}
read_all() {
    read -r feeder
    if [ "$perl" ]; then perl -e '@PERL@'; else awk $now '@AWK@'; fi
    echo "the reading process ended" >&2
    read -r rest 2>/dev/null <"$feeder/stat"
    set -- $rest
    if [ "$4" = $$ ]; then kill "$feeder"; fi
    exit 1
}
feed | read_all
