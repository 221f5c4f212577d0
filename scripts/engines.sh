#!/bin/sh
# Makes .venv/engines: Locust for the tests, apart from everything else, because it brings a plugin into each pytest
# beside it. Does nothing, quickly, when that is already done.
set -eu
cd "$(dirname "$0")/.."
state=$(cksum < scripts/engines.txt)
if [ -x .venv/engines/bin/locust ] && [ "$(cat .venv/engines/.complete 2>/dev/null)" = "$state" ]; then
    exit 0
fi
echo "engines: installing Locust into .venv/engines" >&2
.venv/bin/python -m venv --clear .venv/engines
.venv/engines/bin/python -m pip --quiet --disable-pip-version-check --no-input install --requirement scripts/engines.txt
printf '%s\n' "$state" > .venv/engines/.complete
