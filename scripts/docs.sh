#!/bin/sh
# Builds the site of the documentation in build/site. mkdocs gets an environment of its own, .venv/docs, so that nobody
# installs it who only tests.
set -eu
cd "$(dirname "$0")/.."
state=$(cat constraints.txt scripts/docs.sh | cksum)
if [ "$(cat .venv/docs/.complete 2>/dev/null)" != "$state" ]; then
    echo "docs: installing mkdocs into .venv/docs" >&2
    .venv/bin/python -m venv --clear .venv/docs
    .venv/docs/bin/python -m pip --quiet --disable-pip-version-check --no-input install --constraint constraints.txt mkdocs
    printf '%s\n' "$state" > .venv/docs/.complete
fi
rm -rf build/docs
mkdir -p build/docs/screenshots
cp ./*.md build/docs
cp -R docs build/docs/docs
cp screenshots/*.png screenshots/*.svg screenshots/*.cast build/docs/screenshots
.venv/docs/bin/mkdocs build --quiet --strict
echo "build/site/index.html"
