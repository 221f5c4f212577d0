# Asks servers of this machine for what they tell of themselves while a sample is taken: through ssh, each question would wake
# sshd eight times here. Of the orders of read.pl, these are for it:
#   Q NUMBER FAMILY PLACE QUESTION: connects and asks. The place, as struct sockaddr has it after the family, and the
#   question are hexadecimal.
#   R REPLIES NUMBER FAMILY PLACE QUESTION: the same on a connection that is kept open. The answer is complete after that
#   number of RESP replies (collectors/redis/collector.py).
#   A MARK: tells what was answered until the server closed the connection or the answer was complete, each answer in a part
#   of the frame: "a NUMBER MS" and the text, or "x NUMBER MS" and the bytes in hexadecimal. MS is how long the server took,
#   0 if that is not known. Of a server that needs more than @ANSWER_S@ s after this order, or says too much, nothing is told.
# This text must hold no apostrophe.
# Of each question the socket, what is still to send, the answer, when it began, where it was asked, and how many replies
# complete the answer, if the connection is kept open. These connections, and when each was used, by place. The type of the
# sockets, and what makes them not wait.
my (%asked, %stays, $socket_type, $at_once);
%orders = (
    %orders,
    Q => sub { ask_server(0, split / /, $_[0]) },
    R => sub { ask_server(split / /, $_[0]) },
    A => sub {
        my ($mark, $until, $room, $turns) = ($_[0], now() + @ANSWER_S@, @ANSWER_BYTES@, 20 + 20 * keys %asked);
        while (%asked && $turns--) {
            my ($in, $out, $left) = ("", "", $precise ? $until - now() : @ANSWER_S@);
            last if $left <= 0;
            for (values %asked) {
                if ($_->[1] eq "") { vec($in, fileno $_->[0], 1) = 1 }
                else { vec($out, fileno $_->[0], 1) = 1 }
            }
            my $found = select($in, $out, undef, $left) || last;
            next if $found < 0; # the timer
            for my $number (keys %asked) {
                my $question = $asked{$number};
                send_question($question) if vec($out, fileno $question->[0], 1);
                next unless vec($in, fileno $question->[0], 1);
                my $read = sysread $question->[0], $question->[2], 65536, length $question->[2];
                my ($size, $replies) = (length $question->[2], $question->[5]);
                my $complete = $read && $size <= $room && $replies && are_replies($question->[2], $replies);
                next if $read && $size <= $room && !$complete;
                delete $asked{$number};
                if ($complete) { $stays{$question->[4]} = [$question->[0], time] }
                elsif ($read || !defined $read || !$size) { next }
                $room -= length $question->[2];
                my $head = "$number " . ($precise ? int(1000 * (now() - $question->[3])) || 1 : 0) . "\n";
                if ($question->[2] =~ /[^\t\r\n -~]/) { put("\n#${mark}x $head", unpack "H*", $question->[2]) }
                else { put("\n#${mark}a $head", $question->[2]) }
            }
        }
        %asked = ();
    },
);
sub ask_server {
    my ($replies, $number, $family, $place, $question) = @_;
    $at_once ||= eval {
        require Fcntl;
        require Socket;
        $socket_type = Socket::SOCK_STREAM();
        $precise = eval { require Time::HiRes; 1 };
        Fcntl::O_NONBLOCK();
    } || return;
    my $where = "$family $place";
    my ($link) = $replies ? @{delete $stays{$where} || []} : ();
    if ($link) {
        my $in = "";
        vec($in, fileno $link, 1) = 1;
        undef $link if select $in, undef, undef, 0; # it was closed, or the server has said more than it was asked
    }
    unless ($link) {
        socket($link, $family, $socket_type, 0) || return;
        fcntl($link, 4, $at_once) || return; # F_SETFL
        connect $link, pack("SH*", $family, $place);
    }
    $asked{$number} = [$link, pack("H*", $question), "", now(), $where, $replies];
    send_question($asked{$number});
}
# Whether a text is so many replies, and no more: lines, and after the length of a longer reply so many bytes.
sub are_replies {
    my ($text, $left) = @_;
    while ($left--) {
        return 0 unless $text =~ /\G(?:[-+:].*\r\n|[\$](\d{1,7})\r\n)/g;
        next unless defined $1;
        return 0 if pos($text) + $1 + 2 > length $text;
        pos($text) += $1 + 2;
    }
    pos($text) == length $text;
}
# Sends what it can. Where that fails there is no signal (16384); an answer may have come all the same.
sub send_question {
    my $question = shift;
    my $sent = send $question->[0], $question->[1], 16384;
    if (defined $sent) { substr($question->[1], 0, $sent, "") }
    elsif ($! != 11) { $question->[1] = "" } # 11: not now
}
