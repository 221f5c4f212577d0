#!/bin/sh
# Makes .venv: loadtop itself (editable) and everything that develops and tests it, pinned by constraints.txt.
# Does nothing, quickly, when that is already done. PYTHON=... chooses another Python.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "setup: $*" >&2; }

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

# The first Python that is new enough.
find_python() {
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    say "no Python 3.11 or later found (python3 is $(version_of python3 || echo missing)): install one, or PYTHON=/path/to/python make ..."
    return 1
}

# Debian keeps venv's other half (ensurepip) in a package of its own.
install_venv() {
    package="python$(version_of "$1")-venv"
    if ! command -v apt-get >/dev/null; then
        say "$1 has no venv module (ensurepip is missing): install it"
        return 1
    fi
    if [ "$(id -u)" -eq 0 ]; then as_root=""
    elif sudo -n true 2>/dev/null; then as_root="sudo -n"
    else
        say "$1 has no venv module: sudo apt-get install $package"
        return 1
    fi
    say "installing $package"
    $as_root apt-get update -qq </dev/null >/dev/null || say "apt-get update failed; trying with the package lists at hand"
    if ! log=$($as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 "$package" </dev/null 2>&1); then
        printf '%s\n' "$log" | tail -5 >&2
        say "could not install $package: install it by hand"
        return 1
    fi
}

state=$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum)
if [ -x .venv/bin/python ] && [ "$(cat .venv/.complete 2>/dev/null)" = "$state" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

rm -f .venv/.complete
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    say "making .venv with $python"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv "$python"
    "$python" -m venv --clear .venv
fi
say "installing loadtop and its development tools (a minute or two the first time)"
pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input "$@"; }
# A newer pip than Debian's for --group, and what builds loadtop, so that it is pinned too.
pip install --constraint constraints.txt --upgrade pip babel hatchling editables
pip install --constraint constraints.txt --no-build-isolation --group dev --editable '.[databases]'
# What an older version needed and this one does not: a plugin of pytest would still take part.
pip freeze --all --exclude-editable | sed -n 's/==.*//p' | while read -r name; do
    grep -q -i "^$name==" constraints.txt || [ "$name" = setuptools ] || pip uninstall --yes "$name"
done
printf '%s\n' "$state" > .venv/.complete
