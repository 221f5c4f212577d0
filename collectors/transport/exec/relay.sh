# Runs beside the loop that reads the machine, at the end of a command of its own, and carries connections to servers
# there: see relay.pl for what it is told and what it says. It uses what there is: perl, bash, or a netcat. Only perl
# knows unix sockets.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
unset IFS
case $(perl -MSocket=getaddrinfo -MFcntl -e 'print 1 x 3' 2>&1 </dev/null) in 111) exec perl -e '@PERL@' ;; esac
patience='-t @SILENCE@'
(echo | read -r $patience now) 2>/dev/null || patience=
# Whichever side ends first ends the other, and both have ended before the next order: no program is left that waits for
# a server, or that reads what is not for it.
tcp='
    { exec 3<>"/dev/tcp/$1/$2"; } 2>&1 || exit
    cat <&3 >&4 &
    cat <&5 >&3 &
    wait -n
    kill $(jobs -p)
    wait
'
if command -v bash >/dev/null; then
    carry() { bash -c "$tcp" bash "$1" "$2" 4>&3 5<&0 2>/dev/null; }
elif command -v nc >/dev/null; then
    carry() { nc -w 4 "$1" "$2" 2>&1 >&3; }
else
    carry() { echo "no relay"; }
fi
exec 3>&1
while read -r $patience word mark host port; do
    [ "$word" = "@KEY@" ] || continue
    case $host in /*) reason="no relay" ;; *) reason=$(carry "$host" "$port") ;; esac
    set -f
    printf "#%s. %s\n" "$mark" "$(echo $reason)"
    set +f
done
