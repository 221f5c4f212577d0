#!/bin/sh
# Repeat the runs of wordpress.md with Debian's packages on loopback. Servers use private configurations in the temporary
# directory; the script stops them and removes these files when it ends. Recordings and reports are kept in
# build/experiments/wordpress.
# `wordpress.sh start apache|nginx WORKERS PLUGIN` only starts one variant; `python3 servers.py stop` stops it.
cd "$(dirname "$0")" || exit 1
root=${TMPDIR:-/tmp}/loadtop-experiments
out=../../build/experiments/wordpress
PATH=$PATH:$(cd ../../.venv/bin && pwd)

url() { if [ "$1" = apache ]; then echo http://127.0.0.1:18080/; else echo http://127.0.0.1:18060/; fi; }

start() { # server, number of its workers, plugin
    if [ ! -e "$root/18036/password" ]; then python3 servers.py mariadb || exit 1; fi
    python3 servers.py stop 18080 18060 18090
    python3 servers.py wordpress --plugin "$3" || exit 1
    if [ "$1" = apache ]; then
        python3 servers.py apache --workers "$2" --pages "$root/wordpress" || exit 1
    else
        python3 servers.py fpm --manager dynamic --children "$2" --pages "$root/wordpress" || exit 1
        python3 servers.py nginx --fpm 18090 --pages "$root/wordpress" || exit 1
    fi
    for _ in 1 2 3 4 5 6; do # the first requests compile the pages and fill caches
        python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()' "$(url "$1")" || exit 1
    done
}

load() { # name of the recording, server
    rm -f "$out/$1.loadtop"
    loadtop -c 20 -t 20 --headless --record "$out/$1.loadtop" "$(url "$2")" >"$out/$1.txt" || exit 1
    printf '\n== %s\n' "$1"
    loadtop report --text "$out/$1.loadtop" | awk '/^Load/ { skip = 1 } /^Where the time goes/ { skip = 0 } /^Slowest/ { exit } !skip || /requests/'
}

tune() { # name of the report, server; sets $value to the recommended worker limit
    loadtop tune -c 32 --step-time 3 --no-record --json "$out/$1.json" "$(url "$2")" >"$out/$1.txt" || exit 1
    printf '\n== %s\n' "$1"
    sed -n '/^Knee/,$p' "$out/$1.txt"
    value=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["sizing"]["value"])' "$out/$1.json")
}

if [ "${1-}" = start ]; then
    start "$2" "$3" "$4"
    exit
fi
trap 'python3 servers.py stop' EXIT
../../scripts/install-servers.sh wordpress wordpress-theme-twentytwentythree
mkdir -p "$out"
python3 servers.py stop
start apache 20 none
load cpu apache
start apache 20 counter
load row apache
start apache 20 short-counter
load row-short apache
loadtop compare "$out/row.loadtop" "$out/row-short.loadtop"
for server in apache nginx; do
    few=4
    if [ $server = nginx ]; then few=5; fi
    start $server $few slow-query
    load "$server-$few" $server
    tune "$server-tune" $server
    start $server "$value" slow-query
    load "$server-$value" $server
    loadtop compare "$out/$server-$few.loadtop" "$out/$server-$value.loadtop"
done
