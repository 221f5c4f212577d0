# Runs JMeter. Arguments: the program, the user's plan if it is on this machine (or a dash), remote servers (or a dash), then
# JMeter's own arguments. Results go through a pipe.
servers=$3
started_in=$PWD
need() {
    command -v "$1" >/dev/null 2>&1 || { echo "loadtop:missing jmeter"; return 1; }
    command -v java >/dev/null 2>&1 || { echo "loadtop:missing java"; return 1; }
}
set_java_directories() {
    # Otherwise Java leaves files in the home directory and in /tmp.
    JAVA_TOOL_OPTIONS="${JAVA_TOOL_OPTIONS:-} -XX:-UsePerfData -Djava.util.prefs.userRoot=$d -Djava.io.tmpdir=$d"
    export JAVA_TOOL_OPTIONS
}
helper() {
    beanshell=$(ls "$1"/lib/bsh-[0-9]*.jar /usr/share/java/bsh.jar 2>/dev/null | head -n 1)
    home=$1
    shift
    java ${JAVA_ARGS:-} -Djmeter.home="$home" -cp "$home/bin/ApacheJMeter.jar:$beanshell" bsh.Interpreter "$d/helper.bsh" "$@"
}
tool() {
    program=$1
    plan=$2
    shift 3
    [ "$plan" != - ] || plan="$d/plan.jmx"
    mkfifo "$d/rows" || return 73
    (
        trap '' TERM
        exec cat "$d/rows" >&4
    ) &
    reader=$!
    set_java_directories
    [ "$servers" = - ] || {
        set -- -R "$servers" "$@"
        cd "$started_in" || return 73 # JMeter looks for the keystore of its servers there
        trap '' TERM # servers whose client has ended go on; clean_up stops them first
    }
    set -- -n -t "$plan" -l "$d/rows" -j "$d/jmeter.log" "$@"
    {
        if grep -qs /usr/share/jmeter "$(command -v "$program")" && [ -e /usr/share/java/bsh.jar ]; then
            helper /usr/share/jmeter run "$@" 9>&- 4>&-
        else
            "$program" "$@" 9>&- 4>&-
        fi
        code=$?
    } 9> "$d/rows"
    wait "$reader"
    return "$code"
}
clean_up() {
    [ "$servers" != - ] || return 0
    signal_tool STOP # servers wait for their client, so the load stops before Java has started
    # Version 2.13 ends each line of its log with a space.
    home=$(sed -n 's/ *$//; s/.*JMeterHome=//p' "$d/jmeter.log" | head -n 1)
    busy=
    for server in $(echo "$servers" | tr , ' '); do
        grep -q "sent run command to $server *\$" "$d/jmeter.log" || continue
        grep -q "Finished remote host: $server " "$d/jmeter.log" || busy="$busy $server"
    done
    [ -z "$busy" ] || (set_java_directories && cd "$started_in" && helper "$home" stop $busy) >/dev/null 2>&1
}
quit() {
    trap '' TERM
    kill -TERM 0
    trap end TERM
}
