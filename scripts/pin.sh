#!/bin/sh
# Writes constraints.txt anew: the newest versions that fit together now, found in an environment made for it.
set -eu
cd "$(dirname "$0")/.."
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
pip() { "$directory/venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
pip install --upgrade pip babel hatchling editables
pip install --no-build-isolation --group dev --group docs --editable '.[databases]'
{
    echo "# Versions that are tested together. Written by scripts/pin.sh; read by scripts/setup.sh."
    pip freeze --all --exclude-editable | grep -E '^[A-Za-z0-9._-]+==[^ ]+$' | grep -v -i '^setuptools=='
} > constraints.txt
