#!/bin/sh
# Makes .venv/jmeter: Apache JMeter for the tests of that engine, put together from its libraries by Maven. One test wants
# Debian's packages jmeter and jmeter-http (2.13) besides. Does nothing, quickly, when that is already done.
set -eu
cd "$(dirname "$0")/.."
home=$PWD/.venv/jmeter
state=$(cat scripts/jmeter.xml "$0" | cksum)
if [ "$(cat "$home/.complete" 2>/dev/null)" = "$state" ]; then exit 0; fi
for program in mvn java unzip; do
    command -v "$program" >/dev/null || { echo "engines: $program is needed to put JMeter together" >&2; exit 1; }
done
echo "engines: putting JMeter together in .venv/jmeter" >&2
rm -rf "$home"
mkdir -p "$home/lib/ext" "$home/lib/junit" "$home/bin"
mvn --quiet --batch-mode --file scripts/jmeter.xml dependency:copy-dependencies "-DoutputDirectory=$home/lib"
for part in components core functions http; do mv "$home"/lib/ApacheJMeter_$part-*.jar "$home/lib/ext/"; done
mv "$home"/lib/ApacheJMeter-*.jar "$home/bin/ApacheJMeter.jar"
unzip -qo "$home"/lib/ApacheJMeter_config-*.jar 'bin/*' -d "$home"
printf '\nserver.rmi.ssl.disable=true\n' >> "$home/bin/user.properties" # for the tests of -R
cat > "$home/bin/jmeter" <<'END'
#!/bin/sh
exec java -jar "$(dirname "$(readlink -f "$0")")/ApacheJMeter.jar" "$@"
END
chmod 755 "$home/bin/jmeter"
printf '%s\n' "$state" > "$home/.complete"
