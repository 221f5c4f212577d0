#!/usr/bin/env bash
# Builds the Debian package below build/deb, for the python3 of this Debian. Needs dpkg-dev, debhelper, python3-venv,
# python3-pip and the network. The version is that of pyproject.toml.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset PYTHONPATH

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
rm -rf build/deb
mkdir -p build/deb/source
cp -r collectors loadtop tui docs debian hatch_build.py pyproject.toml constraints.txt README.md CHANGELOG.md LICENSE build/deb/source
cd build/deb/source
find . -name __pycache__ -type d -prune -exec rm -r {} +
cat >debian/changelog <<END
loadtop ($version) unstable; urgency=medium

  * See CHANGELOG.md.

 -- The loadtop contributors <loadtop@localhost>  $(date -uR -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")
END
dpkg-buildpackage --build=binary --unsigned-changes
cd ..
rm -r source
echo "build/deb/$(echo loadtop_*.deb)"
