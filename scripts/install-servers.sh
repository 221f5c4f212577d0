#!/bin/sh
# Installs the servers and tools that tests, lab, benchmarks and pictures use: by apt, where that is there and allowed.
# Arguments are further packages. Starts and enables no service. Where it cannot install, it says what to install and
# leaves the rest to the tests.
set -eu

PACKAGES="apache2 apache2-utils libapache2-mod-php php-fpm php-mysql php-pgsql haproxy nginx-light uwsgi uwsgi-plugin-python3 gunicorn redis-server mariadb-server postgresql openssh-server openssh-client openssl
          wrk siege hey sysstat busybox gawk mawk iproute2 procps util-linux sqlite3 tmux asciinema librsvg2-bin fonts-dejavu-core zsh fish $*"
RED_HAT="httpd httpd-tools mod_ssl php php-fpm haproxy nginx uwsgi uwsgi-plugin-python3 python3-gunicorn redis mariadb-server postgresql-server openssh-server openssh-clients openssl wrk sysstat gawk iproute procps-ng"

say() { printf '%s\n' "servers: $*" >&2; }

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "no apt here, nothing installed; the tests need (Red Hat's names): $RED_HAT"
    exit 0
fi

missing=""
for package in $PACKAGES; do
    installed "$package" || missing="$missing $package"
done
# Any of these browsers will do; not every distribution has this package.
browser=chromium-headless-shell
for name in chromium chromium-headless-shell google-chrome; do
    if command -v "$name" >/dev/null; then browser=""; fi
done
[ -n "$missing$browser" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root="sudo -n"
else
    say "not allowed to install; tests that need a missing server will fail: sudo apt-get install$missing $browser"
    exit 0
fi

say "installing$missing $browser"
log=$(mktemp)
policy=/usr/sbin/policy-rc.d
made_policy=""
tidy() {
    rm -f "$log"
    if [ -n "$made_policy" ]; then $as_root rm -f "$policy"; fi
}
trap tidy EXIT
trap 'exit 130' INT TERM HUP

# Debian asks this file before it starts a service that was just installed; 101 means no.
if [ ! -e "$policy" ]; then
    made_policy=yes
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
fi

$as_root apt-get update -qq </dev/null >"$log" 2>&1 || say "apt-get update failed; trying with the package lists at hand"
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1
}
# shellcheck disable=SC2086  # a list of words
if [ -n "$missing" ] && ! install $missing; then
    tail -5 "$log" >&2
    say "not everything was installed; tests that need a missing server will fail and say so"
fi
if [ -n "$browser" ] && ! install "$browser"; then
    say "no $browser here; the tests of the report's page need it, chromium or google-chrome"
fi

# What came just now shall not start at the next boot either.
if [ -d /run/systemd/system ]; then
    for service in apache2 apache-htcacheclean haproxy nginx uwsgi redis-server mariadb postgresql ssh ssh.socket $(cd /lib/systemd/system && ls | grep '^php.*-fpm\.service$' || true); do
        case "$service:$missing " in
            apache*:*" apache2 "* | haproxy:*" haproxy "* | nginx:*" nginx-light "* | uwsgi:*" uwsgi "* | redis*:*" redis-server "* | mariadb:*" mariadb-server "* | postgresql:*" postgresql "* | ssh*:*" openssh-server "* | php*:*" php-fpm "*)
                $as_root systemctl disable --quiet "$service" 2>/dev/null || true ;;
        esac
    done
fi
