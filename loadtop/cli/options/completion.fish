# Completion of loadtop for fish: loadtop help completion fish | source

# Whether the command line so far runs this command, and if given, this part of it.
function __loadtop_runs -a command part
    set -l given (commandline -opc) '' ''
    contains -- $given[2] $__loadtop_commands; or set given[2] run
    test $given[2] = $command; or return 1
    test -z "$part"; or test "$given[3]" = "$part"
end

function __loadtop_sessions
    set -l state $HOME/.local/state
    set -q XDG_STATE_HOME; and set state $XDG_STATE_HOME
    for file in $state/loadtop/*.loadtop
        string replace -r '.*/' '' $file
    end
    __fish_complete_path (commandline -ct)
end

# NAME=ssh://HOST of each in the ssh configuration; NAME is what stands before the =, or HOST.
function __loadtop_hosts
    awk -v given=(commandline -ct) '
        function name(host) { return index(given, "=") ? substr(given, 1, index(given, "=") - 1) : host }
        tolower($1) == "host" { for (i = 2; i <= NF; i++) if ($i !~ /[*?!]/) print name($i) "=ssh://" $i }
    ' ~/.ssh/config 2>/dev/null
end

complete -c loadtop -f
