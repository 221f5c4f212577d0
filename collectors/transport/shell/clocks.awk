# Reads what ss -tnieH prints of listening and established connections: a line each, and one with what the kernel knows
# of it, of which ss leaves out what is 0. Prints who has accepted connections where, and of those opened from here the
# ends, the user, and the fields of Connection in sock_diag.py; at most so many characters. This text must hold no apostrophe.
$1 == "LISTEN" { ends = ""; count = split($4, part, ":"); served[part[count]] = 1; next }
$1 == "ESTAB" && NF > 4 { queue = $3; ends = ++lines <= 20000 ? $4 " " $5 " " (match($0, / uid:[0-9]+/) ? substr($0, RSTART + 5, RLENGTH - 5) : 0) : ""; next }
/^[ \t]/ { if (ends != "" && /segs_(in|out):/) { told++; end[++many] = ends; line[many] = $0; sent[many] = queue } ends = ""; next }
NF { wrong = $0 }
END {
    if (wrong != "" || (lines && !told)) { print "cannot read: " wrong; exit }
    print "connections " many + 0
    for (i = 1; i <= many && length_ < limit; i++) {
        split(end[i], word, " ")
        count = split(word[1], part, ":")
        if (part[count] in served) row = "< " word[1] " " word[3]
        else {
            $0 = line[i]
            row = "> " end[i] " " sent[i] " " of("unacked:") " " of("lastsnd:") " " of("lastrcv:") " " of("lastack:") " " of("data_segs_in:") " " of("data_segs_out:")
        }
        if (row in printed) continue
        printed[row] = 1
        length_ += length(row) + 1
        print row
    }
}
function of(name,   at) { at = index($0, " " name); return at ? substr($0, at + length(name) + 1) + 0 : 0 }
