# Asks the kernel itself for sockets: the layouts are those of sock_diag.py and unix_diag.py. Of the orders of
# read.pl, these are for them:
#   p PORTS MARK: the accept queues of listening sockets, as ss prints them, those at some ports first, and no more than
#   @DEVICES@ others: anyone can open 100,000. To run ss for every sample would cost as much there as all the rest.
#   e FAMILY LIMIT PORTS MARK: open sockets as in /proc/net/tcp, but without those in TIME_WAIT, of which the kernel may
#   have tens of thousands; at most so many characters, and some at these ports in any case. With a = before
#   the ports, only those that listen; with a ~, without most connections that are alike: of those to one place @CLIENTS@,
#   and of those accepted at a port one in each state, and without others that no process holds.
#   u LIMIT MARK: unix stream sockets that listen, and those that are connected to one that such a socket accepted.
#   k MARK: the sums of collectors/linux/peers.py, as tcp_clocks.py makes them, but without readings between walks. From
#   the first such order on, the connections are read by a timer. That takes about 1 ms (to walk a large table) and 4 us
#   for each connection that was opened from here: a rest 500 to 1500 times as long keeps it below 0.2 % of a core. It
#   rests for 4 s at most: thousands of connections cost more. Of those accepted here only the place is told: ports that
#   tell no new one are left out of seven readings of eight.
#   y LIMIT: queueing disciplines, of which tc tells. That starts four processes: not done where none is of a kind that can
#   limit the rate of an interface.
# After the mark comes the answer. This text must hold no apostrophe.
my ($readings, $heard, $ports_due, $precise, %accepted, %served) = (0, 0, 0);
my (%told, %since, $followed, %quiet, $refused);
my ($tested, $queue_readings, %queued) = ("", 0);
# Sockets of netlink to be asked again, by family.
my %kept;
# When the clocks are read next; the threads to look at until the next sample, and how many looks are left.
my ($clocks_due, $moments, @threads) = (0, 0);
# The sums by place and user:
#   0 to 3 connections, open questions, their age, segments
#   4, 5 the questions without those that are messages without an answer, and their age
#   6 the newest reading that has such a connection
#   7, 8 how often each lead was seen on connections with and without an open question, as Lead in tcp_clocks.py does
#   9 how often it was known that requests and messages without an answer were sent last, as Unanswered does
# Each connection by its two ends: its sums, how many segments it had sent, the last reading that had it, how many it had
# sent when that was last known, and whether the last of these has no answer. The reading that last looked for places to
# forget. Where struct tcp_info is.
my (%sums, %connections);
my $swept = -1;
my ($info, $head, $fields) = (0, "", "");
my %orders = (
    p => sub {
        ($tested, my $mark) = split / /, $_[0], 2;
        my ($rows, %told);
        my $tell = sub {
            my ($port, $queue, $limit, $inode) = unpack("x20nx50LLx4L", $_[0]);
            $rows .= "LISTEN $queue $limit *:$port *:*\n" unless $told{$inode}++;
        };
        my $list = sub {
            ($rows, %told) = ("");
            for my $family (2, 10) { at_ports($family, 1024, $tested, $tell) if $_[0] }
            my $left = @DEVICES@;
            $rows .= ask(both(0, 1024), sub { $tell->($_[0]); --$left });
            !$left;
        };
        $list->(1) if $list->(0);
        put("\n#$mark\n$rows");
    },
    e => sub {
        my ($family, $limit, $ports, $mark) = split / /, $_[0], 4;
        my $selection = $ports =~ s/^([=~])// ? $1 : "";
        my ($number, $form, %told, %served, %alike) = (0, "%08X" x ($family == 2 ? 1 : 4));
        my $row = "%d: $form:%04X $form:%04X %02X %08X:%08X 00:0 0 %d 0 %d\n";
        my $layout = $family == 2 ? "x17Cx2nnLx12Lx28L4" : "x17Cx2nnL4L4x16L4";
        my $rows = "sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode\n";
        my $tell = sub {
            my $port = substr $_[0], 20, 2;
            if (substr($_[0], 17, 1) eq "\n") { $served{$port} = 1 } # 10: it listens
            elsif ($selection) {
                my $is = $served{$port} ? $port . substr($_[0], 17, 1) : substr($_[0], 22, 2) . substr($_[0], 40, 16);
                return 1 if $served{$port} ? $alike{$is}++ : substr($_[0], 84, 4) eq "\0" x 4 || $alike{$is}++ >= @CLIENTS@;
            }
            my ($state, $local, $remote, @rest) = unpack($layout, $_[0]);
            my ($received, $sent, $user, $inode) = splice @rest, -4;
            return 1 if $inode && $told{$inode}++;
            my @there = splice @rest, @rest / 2;
            $rows .= sprintf($row, $number++, @rest, $local, @there, $remote, $state, $sent, $received, $user, $inode);
            length $rows <= $limit;
        };
        my $left = @DEVICES@;
        at_ports($family, 1024, $ports, $tell);
        my $wrong = ask(tcp($family, 1024), sub { $tell->($_[0]) && --$left });
        at_ports($family, 2, $ports, $tell) if $selection ne "=";
        $wrong .= ask(tcp($family, 4095 & ~64 & ~1024), $tell) unless $selection eq "=" || $wrong;
        put("\n#$mark\n", substr($rows . $wrong, 0, $limit));
    },
    u => sub {
        my ($limit, $mark) = split / /, $_[0], 2;
        my $rows = "";
        my ($name, $peer, $user, $waiting) = streams(1026);
        $rows .= "LISTEN $_ $name->{$_}\n" for grep { defined $name->{$_} } keys %$waiting;
        for (keys %$peer) {
            my $path = $name->{$peer->{$_}};
            $rows .= "ESTAB $_ $path\n" if defined $path && !defined $name->{$_};
        }
        put("\n#$mark\n", substr($rows, 0, $limit));
    },
    y => sub {
        # Not asked here for another network. After struct tcmsg, the kind comes first.
        my ($words, $plain) = ($_[0], 0);
        my $wrong = $words =~ / ./ || ask(pack("LSSLLx20", 36, 38, 0x301, 0, 0), sub {
            $plain = substr($_[0], 40) !~ /^(?:@LIMITING@)\0/;
        }, 0);
        pass_on("y $words") if $wrong || !$plain || !$kept{0}; # not kept: it has not told all
    },
    k => sub {
        unless ($readings) {
            $precise = eval { require Time::HiRes; 1 };
            $SIG{ALRM} = sub {
                local $!;
                exit if time - $heard > @SILENCE@;
                look() if $moments > 0;
                clocks() if now() >= $clocks_due;
                wake();
            };
            clocks();
            wake();
        }
        put("\n#$_[0]\nreadings $readings\n", keys %accepted, "queues $queue_readings\n");
        put("= $_ $queued{$_}\n") for keys %queued;
        put(sprintf "%s %s %d %d %d %d %.2f %.2f\n", m{^/} ? "|" : ">", $_, @{$sums{$_}}[0 .. 5]) for keys %sums;
    },
);
# Adds to what is sent together when it is complete, because each part wakes sshd here, and the client and the program that
# reads it there.
my $out = "";
sub put {
    $out .= join "", @_;
    send_out() if length $out > @LIMIT@;
}
sub send_out {
    write_all(*STDOUT, $out);
    $out = "";
}
sub write_all {
    my ($to, $text) = @_;
    while (length $text) {
        my $sent = syswrite $to, $text;
        if ($sent) { substr($text, 0, $sent, "") }
        elsif ($! == 11) { select undef, undef, undef, 0.01 } # what it goes to does not wait
        elsif ($! != 4) { exit 1 } # 4: interrupted by the timer
    }
}
# The question for the TCP sockets of a family in some of the states.
sub tcp { pack("LSSLLCCxxLx48", 72, 20, 0x301, 0, 0, shift, 6, shift) }
# The older question TCPDIAG_GETSOCK, for those of IPv4 and IPv6 in one walk: what to tell of them beside, the states, and
# a condition.
sub both {
    my ($beside, $states, $condition) = (@_, "");
    pack("LSSLLx3Cx48Lx4", 76 + length $condition, 18, 0x301, 0, 0, $beside, $states) . $condition;
}
# Gives a function some sockets in some states at each of these ports: the condition is that of sock_diag.py.
sub at_ports {
    my ($family, $states, $ports, $take) = (shift, shift, shift, shift);
    for my $port (grep /^\d+$/, split /,/, $ports) {
        my ($left, $question) = (64, tcp($family, $states));
        my $condition = pack("SSCCSxxSCCSxxS", 20, 1, 2, 8, 20, $port, 3, 8, 12, $port);
        ask(pack("L", 92) . substr($question, 4) . $condition, sub { $take->($_[0]) && --$left });
    }
}
# The condition that sockets are at none of these ports, of 16 at most and as the kernel tells them; empty without any. Of
# each port: whether it is less, and whether it is more, which else refuses by a jump beyond the end (as in sock_diag.py).
sub without {
    my $condition = "";
    while (length $condition < 256 && defined(my $port = shift)) {
        $port = unpack "n", $port;
        $condition = pack("CCSxxSCCSxxS", 2, 8, 16, $port, 2, 8, 12 + length $condition, $port + 1) . $condition;
    }
    $condition eq "" ? "" : pack("SS", 4 + length $condition, 1) . $condition;
}
# Gives each socket of the answer to a function, until that returns 0. Returns what is wrong; that there is no IPv6 is not.
# The socket that asks is kept only when it has told all: what is left of a long answer goes with it. Another family of
# netlink than that of sockets (4) can be asked too.
sub ask {
    my ($question, $take, $family) = @_;
    $family = 4 unless defined $family;
    my $link = delete $kept{$family};
    return "cannot be asked\n" unless ($link || socket($link, 16, 3, $family)) && defined send($link, $question, 0);
    while (defined recv($link, my $answer, 65536, 0)) {
        while (length $answer >= 16) {
            my ($length, $kind) = unpack("LS", $answer);
            return "refused\n" if $kind == 2 && !(unpack("x16C", $question) == 10 && unpack("x16l", $answer) == -2);
            if ($kind < 4 || $length < 32) { $kept{$family} = $link if $kind == 3; return "" }
            my $message = substr($answer, 0, ($length + 3) & ~3, "");
            return "" unless $take->($message);
        }
    }
    "";
}
# Adds one reading up, and says when the next is due.
sub clocks {
    my ($sockets, %news) = (0);
    if (time >= $ports_due) {
        my ($listening, %before) = (0, %served);
        %served = ();
        ask(both(0, 1024), sub { $served{substr $_[0], 20, 2} = 1; ++$listening });
        if (grep !$before{$_}, keys %served) { delete @connections{grep $served{substr $_, 0, 2}, keys %connections} }
        $ports_due = time + 5 + $listening / 500;
    }
    # Of many sockets each operation counts: what is the same in every reading is kept.
    my $take = sub {
        ++$sockets;
        my $from = substr($_[0], 20, 36);
        my $known = $connections{$from};
        if (!$known || $known->[2] < $readings - 1) {
            if ($served{substr $from, 0, 2}) {
                my $end = substr($_[0], 20, 2) . substr($_[0], 24, 16) . substr($_[0], 80, 4);
                return 1 if $told{$end};
                $news{substr $end, 0, 2} = 1;
                my ($family, $port, $here, $user) = unpack("x16Cx3nx2a16x40L", $_[0]);
                $accepted{"< " . place($family, $here, $port) . " $user\n"} = 1 if keys %accepted < 256;
                return $told{$end} = 1;
            }
            my $sum = find_info($_[0]) && sum_of($_[0]) || return 1;
            $known = [$sum, 0, 0, -1, 0];
            $connections{$from} = $known if keys %connections < 20000;
        }
        return 1 unless substr($_[0], $info, 4) eq $head || find_info($_[0]);
        my ($open, $sent, $received, $acked, $in, $out) = unpack($fields, $_[0]);
        my $sum = $known->[0];
        ++$sum->[0];
        $sum->[6] = $known->[2] = $readings;
        # Most connections have had their answer long ago.
        return 1 if $received >= 10000 && $sent > $received && $in && !$open && $out == $known->[1];
        # As is_open() of tcp_clocks.py.
        $open ||= $sent < $received || $sent == $received && $acked < $received && $received - $acked <= 500;
        if ($in && $in <= 64 && $out <= 16) {
            my $lead = $out - $in;
            if ($open) { ++$sum->[7]{$lead} }
            elsif ($received < 10000) {
                if ($sent > $received) { ++$sum->[8]{$lead} }
                elsif ($sent == $received && $sent == $acked) {
                    my $seen = $sum->[7]{$lead} || 0;
                    $open = $seen >= 5 && $seen >= 20 * (($sum->[8]{$lead} || 0) + ($sum->[7]{$lead + 1} || 0));
                }
            }
        }
        if ($in ? $open : $out ? $out < 64 : $sent < 10000) {
            my $answered = answered($known, $out, $sent, unpack "x76L", $_[0]);
            ++$sum->[1];
            $sum->[2] += $sent;
            $sum->[4] += $answered;
            $sum->[5] += $answered * $sent;
        }
        $sum->[3] += $out - $known->[1] if $out > $known->[1];
        $known->[1] = $out;
        1;
    };
    my $condition = $readings % 8 && !$refused ? without(grep $served{$_}, keys %quiet) : "";
    if (ask(both(2, 2, $condition), $take) && $condition) {
        $refused = 1;
        ask(both(2, 2), $take);
    }
    %quiet = map { $_ => 1 } grep { !$news{$_} } map { substr $_, 0, 2 } keys %told;
    if (!($readings % 8) || keys %connections >= 20000) {
        delete @connections{grep $connections{$_}[2] < $readings, keys %connections};
    }
    %told = () if keys %told > 20000;
    $sockets += unix_clocks();
    add_queues();
    ++$readings;
    my $rest = (0.75 + rand(0.5)) * (0.5 + $sockets / 130);
    $rest = 4 if $rest > 4;
    $rest = 1 if $rest < 1 && !$precise;
    $clocks_due = now() + $rest;
}
sub now { $precise ? Time::HiRes::time() : time }
# Sets the timer for the next reading of the clocks, or of threads.
sub wake {
    $clocks_due = now() if $clocks_due > now() + 4; # the clock of the machine was set
    my $rest = $clocks_due - now();
    $rest = 0.1 + rand(0.2) if $moments > 0 && $rest > 0.3;
    $rest = 0.01 if $rest < 0.01;
    $precise ? Time::HiRes::alarm($rest) : alarm($rest < 1 ? 1 : $rest);
}
# Adds up the connections in accept queues, those at the tested ports first where there are too many.
sub add_queues {
    my (%waiting, %counted);
    ++$queue_readings;
    my $add = sub {
        my ($port, $queue, $inode) = unpack("x20nx50Lx8L", $_[0]);
        $waiting{$port} += $queue unless $counted{$inode}++;
        1;
    };
    my $left = @DEVICES@;
    ask(both(0, 1024), sub { $add->($_[0]); --$left });
    for my $family (2, 10) { at_ports($family, 1024, $tested, $add) unless $left }
    for (keys %waiting) {
        $queued{$_} += $waiting{$_} if defined $queued{$_} || keys %queued < 256 || ",$tested," =~ /,$_,/;
    }
}
# Adds up the connections to unix sockets, as unix_clocks.py does. Returns how many there are.
sub unix_clocks {
    my ($name, $peer, $user, $waiting) = streams(1026);
    my ($at, %now, %waits) = (now());
    for my $inode (keys %$waiting) { $waits{$_} = $inode for @{$waiting->{$inode}} }
    for my $inode (keys %$peer) {
        my $path = $name->{$waits{$inode} || $peer->{$inode}};
        next if !defined $path || defined $name->{$inode} || $path =~ m{^(?:/var)?/run/(?:systemd|dbus|udev)/};
        my $who = "$path " . (defined $user->{$inode} ? $user->{$inode} : 4294967295);
        next unless $sums{$who} || keys %sums < 256;
        my $sum = $sums{$who} ||= [(0) x 7];
        ++$sum->[0];
        my $begun = $since{$inode};
        unless (defined $begun) {
            $begun = $followed ? $at : $at - 20;
            ++$sum->[3] if $followed;
        }
        if ($at - $begun < 10) {
            my $age = int(1000 * ($at - $begun));
            ++$sum->[$_] for 1, 4;
            $sum->[$_] += $age for 2, 5;
        }
        $now{$inode} = $begun if keys %now < 20000;
    }
    %since = %now;
    $followed = 1;
    scalar keys %$peer;
}
# The unix stream sockets in some of the states: paths, inodes of peers, users, and of those that listen the inodes of
# those that wait to be accepted, all by inode.
sub streams {
    my (%name, %peer, %user, %waiting);
    ask(pack("LSSLLCCxxL5", 40, 20, 0x301, 0, 0, 1, 0, shift, 0, 77, 0, 0), sub {
        my $message = shift;
        my ($type, $state, $inode) = unpack("x17CCxL", $message);
        for (my $at = 32; $type == 1 && $at + 4 <= length $message;) {
            my ($length, $kind) = unpack("SS", substr($message, $at, 4));
            last if $length < 4;
            my $value = substr($message, $at + 4, $length - 4);
            $peer{$inode} = unpack("L", $value) if $kind == 2;
            $waiting{$inode} = [unpack("L*", $value)] if $kind == 3;
            $user{$inode} = unpack("L", $value) if $kind == 7;
            $name{$inode} = $1 if $kind == 0 && $value =~ m{^(/[!-~]*)\0*$};
            $at += ($length + 3) & ~3;
        }
        $waiting{$inode} ||= [] if $state == 10;
        keys(%name) + keys(%peer) < @LINES@;
    });
    (\%name, \%peer, \%user, \%waiting);
}
# Finds struct tcp_info in what the kernel tells of a socket, where it is in all others too. Whether it is there.
sub find_info {
    for (my $at = 88; $at + 164 <= length $_[0];) {
        my ($length, $kind) = unpack("SS", substr $_[0], $at, 4);
        if ($kind == 2 && $length >= 164) {
            ($info, $head) = ($at, substr $_[0], $at, 4);
            $fields = "x" . ($at + 28) . "Lx16Lx4LLx92LL";
            return 1;
        }
        return 0 if $kind == 2 || $length < 4;
        $at += ($length + 3) & ~3;
    }
    0;
}
# The sums of where a socket is connected to, if there is room for it: places without a connection are forgotten.
sub sum_of {
    my ($family, $port, $far, $user) = unpack("x16Cx5nx16a16x24L", $_[0]);
    my $who = place($family, $far, $port) . " $user";
    if (!$sums{$who} && keys %sums >= 256) {
        return if $swept == $readings;
        $swept = $readings;
        for (keys %sums) { delete $sums{$_} unless m{^/} || $sums{$_}[6] >= $readings - 1 }
        return if keys %sums >= 256;
    }
    $sums{$who} ||= [(0) x 7];
}
# How likely it is that what was sent last has an answer, as Unanswered and _known() of tcp_clocks.py say.
sub answered {
    my ($known, $out, $sent, $bytes) = @_;
    @$known[3, 4] = ($out, $out > 2 && ($bytes == 9 || $bytes == 18) ? 1 : 0) if $bytes;
    my ($seen, $late) = ($known->[0][9] ||= [0, 0, 0, 0], $sent >= 40 ? 2 : 0);
    if ($known->[3] == $out) {
        ++$seen->[$late + $known->[4]];
        return 1 - $known->[4];
    }
    my ($requests, $unanswered) = @$seen[$late, $late + 1];
    $unanswered >= 5 ? $requests / ($unanswered + $requests) : 1;
}
# An address and port as people write them, one of IPv4 also where a socket of IPv6 has it.
sub place {
    my ($family, $address, $port) = (shift, shift, shift);
    $address = substr $address, 12 if $family == 10 && substr($address, 0, 12) eq "\0" x 10 . "\xff\xff";
    return join(".", unpack "C4", $address) . ":$port" if $family == 2 || length $address == 4;
    "[" . join(":", map { sprintf "%x", $_ } unpack "n8", $address) . "]:$port";
}
