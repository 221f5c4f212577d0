# Runs Locust. Arguments: "master" or "worker", the program, the port of the master's web interface or the number of
# worker processes, and the name of a worker's machine.
need() {
    command -v "$2" >/dev/null 2>&1 || { echo "loadtop:missing locust"; return 1; }
}
tool() {
    files="$d/loadtop_locustfile.py"
    [ ! -e "$d/user_plan.py" ] || files="$files,$d/user_plan.py"
    LOADTOP_PLAN="$d/plan.json"
    PYTHONDONTWRITEBYTECODE=1
    LOADTOP_MACHINE=$4
    export LOADTOP_PLAN LOADTOP_MACHINE PYTHONDONTWRITEBYTECODE
    case $1 in
    master) "$2" -f "$files" --loglevel WARNING --master --master-bind-host 127.0.0.1 --master-bind-port "$port" \
        --web-host 127.0.0.1 --web-port "$3" ;;
    *) "$2" -f "$files" --loglevel WARNING --worker --master-host 127.0.0.1 --master-port "$port" --processes "$3" ;;
    esac 4>&-
}
clean_up() {
    : nothing runs elsewhere
}
