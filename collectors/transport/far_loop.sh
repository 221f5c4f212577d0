# Runs on the machine that is watched, for as long as the connection lives, in any POSIX shell. It arrives over standard
# input, is kept in no file, and ends when its input does. Every line that it reads is one order; the answers to a few
# of them, between the marks that they ask for, are a frame. Paths are split into words and never evaluated. `head`
# prints the name of each file before its text and reads all of them in one process; what cannot be read is said in
# the same stream, because one process per file would cost more than everything that is measured here.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
unset IFS
last=
files=
stats=
more=
cd /proc || exit 1
set -f
while read -r order rest; do
    case $order in
    # a mark: a line of its own, with a word that cannot be in any file
    m) printf "\n#%s\n" "$rest" ;;
    # who we are: this shell, bytes of a page, whether ss is here
    i) printf "%s %s %s\n" "$$" "$(getconf PAGESIZE 2>&1 || :)" "$(command -v ss || :)" ;;
    # files and processes that every sample reads
    f) files=$rest ;;
    p) stats=$rest ;;
    o) more=$rest ;;
    # a sample: the files above and those given here; all processes, the first fields of those above, of those given
    # for this time, and of those that were not there before
    s)
        set +f
        set -- [0-9]*
        set -f
        new=
        if [ "$*" != "$last" ]; then
            for pid; do
                case " $last " in
                *" $pid "*) ;;
                *) new="$new $pid/stat" ;;
                esac
            done
            last="$*"
        fi
        head -c 1048576 /dev/null $files $rest 2>&1
        printf "\n#pids %s\n" "$last"
        cut -d " " -f 1-30 /dev/null $stats $more $new 2>&1
        more=
        ;;
    # the first bytes of files; the links of a directory; listening sockets
    h) head -c $rest 2>&1 ;;
    d) ls -l "$rest" 2>&1 ;;
    q) ss -ltnH 2>&1 ;;
    # what a process deep in swap can hold up: beside everything else, on the other stream
    b) (set -- $rest; mark=$1; shift; printf "\n#%s\n" "$mark"; head -c 4096 /dev/null "$@" 2>&1; printf "\n#%s.\n" "$mark") >&2 & ;;
    esac
done
