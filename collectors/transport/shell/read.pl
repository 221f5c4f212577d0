# Where there is a perl, it does what read.awk does elsewhere, and costs less: files that every sample reads stay open, and
# of a process that has not run since only one small file is read. It also reads links, for which a shell has to start
# processes. A line that begins with the secret word holds orders, with tabs between them; all others are passed on. All
# is sent at the last mark of a frame. The orders for sockets are in queues.pl, which stands before this text. This text
# must hold no apostrophe.
chomp(my $key = <STDIN>);
# What every sample reads; of which files only some lines are wanted; processes that are read in turns; those of which is
# wanted how long their threads waited for a processor, and whether there are several; what was told of each file; where
# threads wait.
my (@files, %lines, %asleep, %waits, %before, %waiting);
# The processes; what stat and schedstat of each said; files that stay open; the part of a frame that is being made.
my ($all, $told_all, %said, %open, $mark, $part) = ("", "");
my ($turn, $listed, $listing, $ended, @now) = (0, "");
%orders = (
    %orders,
    # a mark: a line of its own, with a word that cannot be in any file
    m => sub { print "\n#$_[0]\n"; if ($_[0] =~ /[.]$/) { $| = 1; $| = 0 } },
    # a mark, and what head would print of the uptime alone
    U => sub { print "\n#$_[0]\n==> /proc/uptime <==\n", text_of("/proc/uptime"), "\n" },
    # forget what was told before: it was not heard
    n => sub { %before = %said = (); $told_all = "" },
    f => sub { @files = split / /, $_[0]; delete @open{grep m{^/}, keys %open} },
    g => sub { my ($name, $wanted) = split / /, $_[0], 2; $lines{$name} = qr/^(?=$wanted).*\n/m },
    z => sub { $asleep{$_} = 1 for split / /, $_[0] },
    w => sub { delete @asleep{split / /, $_[0]} },
    t => sub {
        delete @before{map "$_/schedstat", keys %waits};
        $#{$said{$_}} = 0 for grep $said{$_}, keys %waits;
        %waits = map { m{^(\d+)/task/(.*)} ? ($1, $2 eq $1 ? 1 : 2) : () } split / /, $_[0];
        for (keys %waits) { $said{$_}[0] = "" if $waits{$_} == 2 && $said{$_} }
    },
    s => \&sample,
    # the threads to look at until the next sample; first tells what was seen of the earlier ones
    W => sub {
        look() unless %waiting;
        print map "\n#${mark}f $_/wchan\n$waiting{$_}", keys %waiting;
        (%waiting, @threads) = ();
        @threads = map { m{/} ? $_ : "$_/task/$_" } split / /, $_[0];
        $moments = @threads ? int(@LOOKS@ / @threads) || 1 : 0;
        $moments = @MOMENTS@ if $moments > @MOMENTS@;
        wake() if $readings;
    },
    # a directory of links, the sockets that some processes hold, and which processes hold some sockets
    D => sub { print links($_[0]), "\n" },
    l => sub { held({}, split / /, $_[0]) },
    o => sub { held({ map { ("socket:[$_]", 1) } split / /, $_[0] }, processes()) },
);
sub sample {
    my @more;
    ($mark, @more) = split / /, $_[0];
    ($part, my $same, my $threads) = ("\n#$mark\n", "", 0);
    ++$turn;
    add($_, text_of($_, 1)) for @files;
    for (@more) { add($_, text_of($_, /^\d/)); delete $before{$_} }
    list_processes();
    $part .= "\n#${mark}l\n" . ($told_all = $all) if $told_all ne $all;
    for (@now) {
        my ($in_turn, $said, $waited) = (!(($_ + $turn) % @IDLE_EVERY@), $said{$_});
        # One thread that has not run since has the same stat, but for memory that was taken from it, another parent, and
        # a wait for a processor that has just begun: these are told some samples later.
        if ($said && $said->[2]) {
            sysseek $said->[2], 0, 0;
            sysread $said->[2], $waited, 99;
            if (!$in_turn && defined $waited && $waited eq $said->[1]) { $same .= " $_"; next }
        }
        next if $asleep{$_} && !$in_turn;
        $same .= " $_" unless process($_, $waited, \$threads);
    }
    print $part, "\n#$mark=\n$same\n";
}
# All processes: another list only where one has begun, by what the kernel counts, or ended, by the links of /proc, and
# now and then in any case.
sub list_processes {
    my ($started) = text_of("stat", 1) =~ /^processes (.*)/m;
    $started .= " " . (stat ".")[3] if $started;
    return if @now && !$ended && $started && $started eq $listed && $turn % 8;
    ($listed, $ended) = ($started || "", 0);
    @now = processes();
    forget() if "@now" ne $all;
}
# Where threads wait now, as thread_looks.py does.
sub look {
    --$moments;
    for my $thread (@threads) {
        my $line = text_of("$thread/wchan", 1);
        next if $line eq "";
        if ($line =~ /^(?:@EPOLL@)/) { $line .= " " . text_of("$thread/syscall") }
        elsif ($line eq "0" ? !$> : $line !~ /^(?:@AT_EASE@)/) { $line .= " $1" if text_of("$thread/stat") =~ /.*\) (\w)/s }
        chomp $line;
        $waiting{$thread} .= "$line\n";
    }
}
sub processes {
    $listing ? rewinddir $listing : opendir($listing, ".") || return;
    grep !/\D/, readdir $listing;
}
sub forget {
    $all = "@now";
    my %now = map { $_ => 1 } @now;
    for my $known (\%said, \%asleep, \%before, \%open) {
        delete @$known{grep m{^(\d+)} && !$now{$1}, keys %$known};
    }
}
# The text of a file of the kernel. One that stays open is read again from its beginning; the file of a process comes as
# one piece.
sub text_of {
    my ($name, $stays, $text) = (@_, "");
    my $file = $open{$name};
    return $text if $file && sysseek($file, 0, 0) && whole($file, $name, \$text);
    delete $open{$name};
    open($file, "<", $name) || return "";
    whole($file, $name, \$text);
    $open{$name} = $file if $stays && keys %open < 500 && $name =~ m{^(?:\d|stat$|/proc/(?!\d+/net/)|/sys/)};
    $text;
}
sub whole {
    my ($file, $name, $text) = @_;
    my $one = $name =~ /^\d/;
    $$text = "";
    while (sysread $file, $$text, 65536, length $$text) { last if $one || length $$text > @LIMIT@ }
    if (my $line = $lines{$name}) {
        my $all = $$text;
        $$text = "";
        $$text .= $& while $all =~ /$line/g;
    }
    length $$text;
}
# Whether there was anything new to tell of a process. Of one thread, schedstat stays open, if the kernel counts there.
sub process {
    my ($pid, $waited, $threads) = @_;
    my ($wanted, $said) = ($waits{$pid}, $said{$pid} ||= [""]);
    if ($wanted && $wanted == 1) {
        $waited = text_of("$pid/schedstat", 1) unless $waited;
        add("$pid/schedstat", "$pid $waited") if $waited ne "";
        @$said[1, 2] = ($waited, $waited =~ /[1-9]/ ? $open{"$pid/schedstat"} : undef);
    }
    my $stat = text_of("$pid/stat", $wanted);
    if ($stat eq "") { $ended = 1; return add("$pid/stat", "") }
    return 0 if $stat eq $said->[0];
    $said->[0] = $stat;
    # 0 for what nobody needs: most of it changes all the time, and would have to be sent
    if ($stat =~ /^(.*\) \S+ \S+)(?: \S+){9}((?: \S+){4}) \S+ \S+( \S+) \S+( \S+) \S+( \S+) /s) {
        $stat = "$1 0 0 0 0 0 0 0 0 0$2 0 0$3 0$4 0$5 0\n";
    }
    my $new = add("$pid/stat", $stat);
    add("$pid/schedstat", waited($pid, $threads)) if $wanted && $wanted == 2;
    $new;
}
sub waited {
    my ($pid, $threads, $text) = (@_, "");
    opendir(my $tasks, "$pid/task") || return "";
    for (grep !/\D/, readdir $tasks) {
        return "" if ++$$threads > 2000;
        my $waited = text_of("$pid/task/$_/schedstat");
        $text .= "$_ $waited" if $waited ne "";
    }
    $text;
}
# Adds what has changed to the frame. Whether it has.
sub add {
    my ($name, $text) = @_;
    if ($text eq "") { delete $before{$name}; $part .= "\n#${mark}! $name" }
    elsif (defined $before{$name} && $before{$name} eq $text) { return 0 }
    else { $before{$name} = $text; $part .= "\n#${mark}f $name\n$text" }
    1;
}
# As ls -l prints them.
sub links {
    my $directory = shift;
    opendir(my $entries, $directory) || return "ls: $directory: $!\n";
    my $found = "";
    while (defined(my $name = readdir $entries)) {
        next if $name =~ /^[.]/;
        my $target = readlink $directory . $name;
        $found .= defined $target ? "l 1 0 0 0 - - - $name -> $target\n" : "d 1 0 0 0 - - - $name\n";
        last if length $found > @LIMIT@;
    }
    $found;
}
# Prints the sockets that processes hold, or only those wanted: a process and a socket a line. Anyone can open millions of
# files: of each process the first 2000 are read, and for a second of a processor.
sub held {
    my ($wanted, @pids) = @_;
    my $end = spent() + 1;
    for my $pid (@pids) {
        opendir(my $entries, "$pid/fd") || next;
        my %printed;
        for (my $links = 0; $links < 2000 && defined(my $name = readdir $entries); ++$links) {
            my $target = readlink "$pid/fd/$name";
            next unless defined $target && (%$wanted ? $wanted->{$target} : $target =~ /^socket:/);
            print "$pid $target\n" unless $printed{$target}++;
        }
        return if spent() > $end;
    }
}
sub spent { my ($user, $system) = times; $user + $system }
while ($heard = time, $readings || alarm(@SILENCE@), defined(my $line = <STDIN>)) {
    if ($line !~ s/^\Q$key\E //) { print $line; next }
    chomp $line;
    for (split /\t/, $line) { $orders{$1}->($2) if /^(\w) ?(.*)/ && $orders{$1} }
}
