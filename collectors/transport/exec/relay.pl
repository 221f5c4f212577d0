# Carries connections from the standard streams to servers of this machine, one after the other. A line with the word @KEY@
# asks for one: a mark, and the path of a unix socket or a host and a port. The mark comes back with a full stop when the
# server has closed it, with the reason where there was no connection. Other lines are left from a connection that the
# server closed early. It ends with its input, also in the middle of a connection, and where nothing comes from any side
# for @SILENCE@ s: the end of the input of a terminal does not come. This text must hold no apostrophe.
use Socket qw(:all);
use Fcntl;
$| = 1;
$SIG{PIPE} = "IGNORE";
my ($sent, $line) = ("");
while (defined($line = order())) {
    next unless $line =~ /^@KEY@ (\w+) (\S+) ?(\d*)$/;
    my $mark = $1;
    my $reason = carry($2, $3);
    print "#$mark. $reason\n" or exit;
}

sub order {
    my ($line, $byte) = ("", "");
    alarm @SILENCE@;
    while (sysread STDIN, $byte, 1) {
        if ($byte eq "\n") { alarm 0; return $line }
        $line .= $byte if length $line < 5000;
    }
    exit;
}

sub carry {
    my ($host, $port) = @_;
    my ($reason, $error, @found) = ("Name or service not known");
    if ($port eq "") { @found = ({ family => AF_UNIX, addr => pack_sockaddr_un($host) }) }
    else { ($error, @found) = getaddrinfo($host, $port, { socktype => SOCK_STREAM }) }
    $sent = "";
    for my $place (@found) {
        socket(my $server, $place->{family}, SOCK_STREAM, 0) or next;
        fcntl $server, F_SETFL, O_NONBLOCK;
        $reason = joined($server, $place->{addr});
        if ($reason eq "") { pass($server); return "" }
    }
    return $reason;
}

# Connects, and notices meanwhile when the input ends.
sub joined {
    my ($server, $address) = @_;
    while (!connect $server, $address) {
        if ($!{EAGAIN}) { ready($server, 0, 0, 0.1) }
        elsif ($!{EINPROGRESS} || $!{EALREADY}) { ready($server, 0, 1) }
        elsif ($!{EISCONN}) { last }
        else { return "$!" }
    }
    return "";
}

# Waits until the server can be read from or written to, and takes what comes for it: returns which of both.
sub ready {
    my ($server, $read, $write, $seconds) = @_;
    my ($in, $out) = ("", "");
    alarm @SILENCE@;
    vec($in, 0, 1) = 1 if length $sent < 1 << 20;
    vec($in, fileno $server, 1) = 1 if $read;
    vec($out, fileno $server, 1) = 1 if $write;
    select($in, $out, undef, $seconds);
    if (vec $in, 0, 1) { sysread STDIN, $sent, 65536, length $sent or exit }
    return ($read && vec($in, fileno $server, 1), $write && vec($out, fileno $server, 1));
}

sub pass {
    my $server = shift;
    while (1) {
        my ($read, $write) = ready($server, 1, length $sent);
        if ($write) {
            my $count = syswrite $server, $sent;
            if ($count) { substr($sent, 0, $count) = "" }
            elsif (!$!{EAGAIN}) { $sent = "" }
        }
        if ($read) {
            my $count = sysread $server, my $came, 65536;
            if ($count) { print $came or exit }
            elsif (defined $count || !$!{EAGAIN}) { return }
        }
    }
}
