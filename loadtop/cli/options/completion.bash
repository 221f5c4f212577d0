# Completion of loadtop for bash: eval "$(loadtop help completion bash)"

_loadtop() {
    local line=${COMP_LINE:0:COMP_POINT} command=run names= words= kind= place
    local current=${line##*[[:space:]]}
    local given last
    read -ra given <<<"${line%"$current"}"
    last=${given[-1]}
    if [[ " ${given[*]} " == *" -- "* ]]; then # the words of another command
        if [[ $last == -- ]]; then COMPREPLY=($(compgen -c -- "$current")); else compopt -o default; fi
        return
    fi
    [[ " $_loadtop_commands " != *" ${given[1]-} "* ]] || command=${given[1]}
    [[ " ${_loadtop_parts//[$'\n']/ } " != *" $command/${given[2]-} "* ]] || command+=/${given[2]}
    _loadtop_options "$command" "$last"
    if [[ $kind != value && $current == -* ]]; then
        kind=words words=$names
    elif [[ -z $kind ]]; then
        _loadtop_arguments "$command"
        ((${#given[@]} > 1)) || words+=" $_loadtop_commands"
    fi
    case $kind in
        value) return ;;
        file) compopt -o default; return ;;
        directory) compopt -o dirnames; return ;;
        host) words=$(_loadtop_hosts "$current") ;;
        session)
            compopt -o default
            for place in "${XDG_STATE_HOME:-$HOME/.local/state}"/loadtop/*.loadtop; do
                [[ ! -e $place ]] || words+=" ${place##*/}"
            done
            ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    place=${current%"${current##*[=:]}"} # bash takes these for the ends of words
    COMPREPLY=("${COMPREPLY[@]#"$place"}")
}

_loadtop_hosts() { # NAME=ssh://HOST of each in the ssh configuration; NAME is what $1 has before its =, or HOST
    awk -v given="$1" '
        function name(host) { return index(given, "=") ? substr(given, 1, index(given, "=") - 1) : host }
        tolower($1) == "host" { for (i = 2; i <= NF; i++) if ($i !~ /[*?!]/) print name($i) "=ssh://" $i }
    ' ~/.ssh/config 2>/dev/null
}

complete -F _loadtop loadtop
