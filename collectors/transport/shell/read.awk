# Reads the files of each sample on the machine that is watched, and prints what has changed since the sample before.
# The first line of its input is the key; lines that begin with it are orders, all others are passed on. What is printed stands between marks
# that hold a word chosen for each sample. This text must hold no apostrophe.
BEGIN { ORS = ""; ends = lines ? "\n" : "" }

NR == 1 { key = $0; next }

index($0, key) != 1 { print $0 "\n"; next }

# a mark: a line of its own, with a word that cannot be in any file. All that was printed is sent at the last one of a
# frame: each part that is sent wakes sshd here, and the client and the program that reads it there.
$2 == "m" { print "\n#" rest($0) "\n"; if ($0 ~ /[.]$/) fflush(); next }

# a mark, and what `head` would print of the uptime alone: to start it would cost more than a sample
$2 == "U" { print "\n#" rest($0) "\n==> /proc/uptime <==\n" text_of("/proc/uptime") "\n"; next }

# forget what was printed before: it was not heard
$2 == "n" { split("", before); split("", raw); listed = all; next }

# the files that every sample reads; which lines are wanted of one (one expression for all: it is compiled once)
$2 == "f" { files = split(rest($0), file, " "); next }
$2 == "g" { wanted[$3]; only = only (only == "" ? "" : "|") $4; next }

# processes that fell asleep, and that woke: those that sleep are read in turns
$2 == "z" { many = split(rest($0), changed, " "); for (i = 1; i <= many; i++) asleep[changed[i]] = 1; next }
$2 == "w" { many = split(rest($0), changed, " "); for (i = 1; i <= many; i++) delete asleep[changed[i]]; next }

# threads of which is wanted how long they waited for a processor, those of a process one after the other
$2 == "t" {
    for (i = 1; i <= tasks; i++) delete before[task[i] + 0 "/schedstat"]
    tasks = split(rest($0), task, " ")
    next
}

# all processes
$2 == "l" {
    listed = all = rest($0)
    count = split(all, pid, " ")
    lists++
    for (i = 1; i <= count; i++) seen[pid[i]] = lists
    for (p in seen) if (seen[p] != lists) { delete seen[p]; delete asleep[p]; delete worked[p]; delete before[p "/stat"]; delete raw[p "/stat"] }
    next
}

# a sample: its mark, which is printed first, and files that are wanted this time only
$2 == "s" {
    more = split(rest($0), extra, " ")
    mark = extra[1]
    whole = "\n#" mark "\n"
    part = same = ""
    turn++
    for (i = 1; i <= files; i++) tell(file[i], text_of(file[i]))
    for (i = 2; i <= more; i++) { tell(extra[i], text_of(extra[i])); delete before[extra[i]] }
    if (listed != "") part = part "\n#" mark "l\n" listed
    listed = ""
    for (i = 1; i <= count; i++) {
        if ((pid[i] in asleep) && (pid[i] + turn) % @IDLE_EVERY@) continue
        if (! process(pid[i] "/stat")) same = same " " pid[i]
        else worked[pid[i]] = turn
    }
    for (i = 1; i <= tasks; i++) waits(task[i], task[i] + 0, task[i + 1] + 0)
    print whole part "\n#" mark "=\n" same
}

function rest(line) { return substr(line, length(key) + 4) }

# A file comes as one record where RS can be a byte that none has, else line by line.
function text_of(name,   text, line) {
    if (name in wanted) {
        while ((getline line < name) > 0) if (line ~ only) text = text line "\n"
    } else {
        if (!lines) RS = "\001"
        while ((getline line < name) > 0) text = text line ends
        RS = "\n"
    }
    close(name)
    return text
}

# Whether there was anything new to tell. Most processes have no space or bracket in their name: their fields are where
# they are counted.
function process(name) {
    if ((getline < name) <= 0) { close(name); return tell(name, "") }
    close(name)
    if ($0 == raw[name]) return 0
    if ($2 ~ /[)]$/ && $24 != "" && !index(substr($0, length($1) + length($2) + 2), ")")) {
        raw[name] = $0
        return tell(name, $1 " " $2 " " $3 " " $4 " 0 0 0 0 0 0 0 0 0 " $14 " " $15 " " $16 " " $17 " 0 0 " $20 " 0 " $22 " 0 " $24 " 0\n")
    }
    delete raw[name]
    return tell(name, needed(text_of(name)))
}

# The stat of a process, with 0 for what nobody needs: most of it changes all the time, and would have to be sent.
function needed(stat,   half, halves, v) {
    halves = split(stat, half, "[)] ")
    if (halves < 2 || split(half[halves], v, " ") < 23) return stat
    return substr(stat, 1, length(stat) - length(half[halves])) v[1] " " v[2] " 0 0 0 0 0 0 0 0 0 " v[12] " " v[13] \
        " " v[14] " " v[15] " 0 0 " v[18] " 0 " v[20] " 0 " v[22] " 0\n"
}

# How long a thread waited for a processor, where its process has done something since or was not told of: all threads of
# a process are told together.
function waits(task, of, next_of,   line, name) {
    if (worked[of] != turn && (of "/schedstat") in before) return
    name = task "/schedstat"
    if ((getline line < name) > 0) waited = waited substr(task, length(of "/task/") + 1) " " line "\n"
    close(name)
    if (of == next_of) return
    if (waited != "") tell(of "/schedstat", waited)
    waited = ""
}

# What has changed; whether it has. Joined in two steps, because each joint copies everything before it.
function tell(name, text) {
    if (text == "") { delete before[name]; part = part "\n#" mark "! " name }
    else if ((name in before) && (before[name] == text)) return 0
    else { before[name] = text; part = part "\n#" mark "f " name "\n" text }
    if (length(part) > 4096) { whole = whole part; part = "" }
    return 1
}
