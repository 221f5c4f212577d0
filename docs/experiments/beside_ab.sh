#!/bin/sh
# Measure the servers of report 004 with ab: the time for 20 requests at each concurrency, with one and two servers behind
# HAProxy.
cd "$(dirname "$0")" || exit 1
trap 'python3 servers.py stop' EXIT
command -v ab >/dev/null || { echo "ab is not installed: see scripts/install-servers.sh" >&2; exit 1; }
for servers in 1 2; do
    python3 servers.py stop
    to=""
    for number in $(seq "$servers"); do
        python3 servers.py fpm --port "1809$number" --manager dynamic || exit 1
        python3 servers.py apache --port "1808$number" --mpm event --workers 150 --fpm "1809$number" || exit 1
        to="$to 1808$number"
    done
    # shellcheck disable=SC2086 (a list of ports)
    python3 servers.py haproxy --to $to || exit 1
    sleep 2
    for concurrency in 1 2 4 6 8 10 12 14; do
        ab -q -l -n 20 -c "$concurrency" http://127.0.0.1:18070/sleep.php |
            awk -v s="$servers" -v c="$concurrency" '/^Time taken/ { print s " servers  c=" c "  ab " $5 " s" }'
    done
done
