#compdef loadtop
# Completion of loadtop for zsh: eval "$(loadtop help completion zsh)"

_loadtop() {
    local command=run
    if (( ${_loadtop_commands[(I)$words[2]:*]} && CURRENT > 2 )); then
        command=$words[2]
        shift words
        (( CURRENT-- ))
    elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe command _loadtop_commands
    fi
    local -a parts=(${(M)_loadtop_parts:#$command/*})
    if (( $#parts && CURRENT == 2 )); then
        parts=(${parts#$command/})
        _describe command parts
        return
    elif (( ${parts[(I)$command/$words[2]:*]} )); then
        command+=/$words[2]
        shift words
        (( CURRENT-- ))
    fi
    _loadtop_options $command
}

_loadtop_sessions() {
    local -a found=(${XDG_STATE_HOME:-$HOME/.local/state}/loadtop/*.loadtop(N:t))
    compadd -a found
    _files
}

_loadtop_hosts() { # NAME=ssh://HOST of each in the ssh configuration; NAME is what stands before the =, or HOST
    compadd -- $(awk -v given="$PREFIX" '
        function name(host) { return index(given, "=") ? substr(given, 1, index(given, "=") - 1) : host }
        tolower($1) == "host" { for (i = 2; i <= NF; i++) if ($i !~ /[*?!]/) print name($i) "=ssh://" $i }
    ' ~/.ssh/config 2>/dev/null)
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _loadtop "$@"; else compdef _loadtop loadtop; fi
