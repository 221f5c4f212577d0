# Runs on the machine that is watched, for as long as the connection lives, in any POSIX shell. It arrives over standard
# input, is kept in no file, and ends when its input does. Every line of input is one order. Where there is a perl
# (`read.pl`), it reads the orders and all that a sample needs: it starts no process for it, which would cost more than
# everything that is measured. It also asks the kernel for sockets (`queues.pl`) and servers for their status
# (`questions.pl`), and starts a shell beside it for orders that come rarely (`orders.sh`). Elsewhere the loop below reads
# the orders, does the rare ones itself, lists processes, and has an awk (`read.awk`) do the rest: what it prints goes
# through that, which passes on every line that does not begin with the secret word.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
unset IFS PERL5OPT PERLIO PERL_UNICODE
key=@KEY@
cd /proc || exit 1
set -f
command -v awk >/dev/null || { echo "awk: not found" >&2; exit 127; }
orders=@ORDERS@
# Each answer of the shell beside perl goes where that prints; that it is complete is told on standard input, a socket.
case $(perl -e 'print 1 x 3' 2>&1 </dev/null) in
111)
    perl -e '@PERL@' "set -f
me=$$
perl=perl
$orders
while read -r order rest; do
    answer </dev/null
    echo >&0
done"
    echo "the reading process ended" >&2
    exit 1
    ;;
esac
me=$$
perl=
eval "$orders"
# mawk waits for a full buffer of orders unless it is told to read line by line, and then does so everywhere; no other awk
# knows that option
now=
case $(awk -W version 2>&1 </dev/null) in mawk*) now='-W interactive -v lines=1' ;; esac
# Where nothing is heard for so long, the machine at the other end is gone, which TCP may never find out. Not every shell
# knows the option.
patience='-t @SILENCE@'
(echo | read -r $patience now) 2>/dev/null || patience=
last=
waits=
tasks=
loop() {
while read -r $patience order rest; do
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
    *) answer </dev/null || printf "%s %s %s\n" "$key" "$order" "$rest" ;;
    esac
done
}
# The shell that waits for the awk ends the loop when that has ended. By itself the loop would not find out before the next
# order, which does not come while this one is not answered.
feed() {
    read -r feeder rest <self/stat
    echo "$feeder"
    echo "$key"
    loop
}
read_all() {
    read -r feeder
    awk $now '@AWK@'
    echo "the reading process ended" >&2
    read -r rest 2>/dev/null <"$feeder/stat"
    set -- $rest
    if [ "$4" = $$ ]; then kill "$feeder"; fi
    exit 1
}
feed | read_all
