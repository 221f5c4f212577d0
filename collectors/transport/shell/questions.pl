# Asks servers of this machine for what they tell of themselves while a sample is taken: through ssh, each question would wake
# sshd eight times here. Of the orders of read.pl, these are for it:
#   Q NUMBER FAMILY PLACE QUESTION: connects and asks. The place, as struct sockaddr has it after the family, and the
#   question are hexadecimal.
#   A MARK: tells what was answered until the server closed the connection, each answer in a part of the frame: "a NUMBER MS"
#   and the text, or "x NUMBER MS" and the bytes in hexadecimal. MS is how long the server took, 0 if that is not known. Of a
#   server that needs more than @ANSWER_S@ s after this order, or says too much, nothing is told.
# This text must hold no apostrophe.
# Of each question the socket, what is still to send, the answer, and when it began; the type of the sockets, and what makes
# them not wait.
my (%asked, $socket_type, $at_once);
%orders = (
    %orders,
    Q => sub {
        my ($number, $family, $place, $question) = split / /, $_[0], 4;
        $at_once ||= eval {
            require Fcntl;
            require Socket;
            $socket_type = Socket::SOCK_STREAM();
            $precise = eval { require Time::HiRes; 1 };
            Fcntl::O_NONBLOCK();
        } || return;
        socket(my $link, $family, $socket_type, 0) || return;
        fcntl($link, 4, $at_once) || return; # F_SETFL
        connect $link, pack("SH*", $family, $place);
        $asked{$number} = [$link, pack("H*", $question), "", now()];
        send_question($asked{$number});
    },
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
                next if $read && length $question->[2] <= $room;
                delete $asked{$number};
                next if $read || !defined $read || $question->[2] eq "";
                $room -= length $question->[2];
                my $head = "$number " . ($precise ? int(1000 * (now() - $question->[3])) || 1 : 0) . "\n";
                if ($question->[2] =~ /[^\t\r\n -~]/) { put("\n#${mark}x $head", unpack "H*", $question->[2]) }
                else { put("\n#${mark}a $head", $question->[2]) }
            }
        }
        %asked = ();
    },
);
# Sends what it can. Where that fails there is no signal (16384); an answer may have come all the same.
sub send_question {
    my $question = shift;
    my $sent = send $question->[0], $question->[1], 16384;
    if (defined $sent) { substr($question->[1], 0, $sent, "") }
    elsif ($! != 11) { $question->[1] = "" } # 11: not now
}
