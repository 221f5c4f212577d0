# Runs Locust. Arguments: "master" or "worker", the program, and of workers the number of processes and the name of the
# machine. Our locustfile puts the master's web interface on a socket in the directory, and encrypts the master's port.
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
        --web-host 127.0.0.1 ;;
    *) "$2" -f "$files" --loglevel WARNING --worker --master-host 127.0.0.1 --master-port "$port" --processes "$3" ;;
    esac 4>&-
}
clean_up() {
    : nothing runs elsewhere
}
