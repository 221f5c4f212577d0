# Passes every line on, of which the second is the secret word, and answers the order p, a mark: after it the accept
# queues of listening TCP sockets, from the kernel itself. To run ss for every sample would cost as much there as all the rest. The layout is that of sock_diag.py;
# the lines are those of ss, no more than @DEVICES@ of each family: anyone can open 100,000 sockets. What is left of a long answer goes
# with the socket that asked. This text must hold no apostrophe.
$| = 1;
print scalar <STDIN>;
print my $key = <STDIN>;
chomp $key;
my $order = "$key p ";
while (alarm(@SILENCE@), defined(my $line = <STDIN>)) {
    if (index($line, $order) == 0) {
        my $rows = "\n#" . substr($line, length $order);
        for my $family (2, 10) {
            my $left = @DEVICES@;
            my $open = socket(my $link, 16, 3, 4);
            my $more = $open && defined send($link, pack("LSSLLCCxxLx48", 72, 20, 0x301, 0, 0, $family, 6, 1024), 0);
            $rows .= "cannot be asked\n" unless $more;
            while ($more && defined recv($link, my $answer, 65536, 0)) {
                while (length $answer >= 16) {
                    my ($length, $kind) = unpack("LS", $answer);
                    if ($kind == 2) { $rows .= "refused\n" unless $family == 10 && unpack("x16l", $answer) == -2 }
                    if ($kind < 4 || $length < 80 || !$left--) { $more = 0; last }
                    my ($port, $queue, $limit) = unpack("x20nx50LL", $answer);
                    $rows .= "LISTEN $queue $limit *:$port *:*\n";
                    $answer = substr($answer, ($length + 3) & ~3);
                }
            }
        }
        $line = $rows;
    }
    print $line;
}
