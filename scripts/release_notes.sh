#!/bin/sh
# Prints what CHANGELOG.md says of a version: scripts/release_notes.sh 0.1.0. Fails where it says nothing.
set -eu
cd "$(dirname "$(dirname "$(readlink -f "$0")")")"
awk -v version="$1" '
    /^## / { of = ($2 == version); next }
    of { print; if (NF) found = 1 }
    END { exit !found }
' CHANGELOG.md
