# Where there is a perl, it does what read.awk does elsewhere, and costs less: files that every sample reads stay open, and
# of a process that has not run since only one small file is read. It also reads links, for which a shell has to start
# processes. Each line is an order. What it prints is sent at the last mark of a frame. The orders for sockets are in
# queues.pl, which stands before this text; those that are unknown here are for the shell beside (`orders.sh`), whose text
# is the argument.
# This text must hold no apostrophe.
# What every sample reads, and which of these files are settings, read less often; of which only some lines are wanted;
# processes that are read in turns; those of which is wanted how long their threads waited for a processor, and whether
# there are several; what was told of each file; where threads wait.
my (@files, %settings, %lines, %asleep, %waits, %before, %waiting);
# The processes; of each, what stat and schedstat said, the open schedstat, how long it had run when stat was read, whether
# it was asleep then and had started no others, whether it has run since, whether it was read often, how often, whether it
# has one thread, whether it hardly runs, and whether it is a thread of the kernel; files that stay open; the part of a frame
# that is being made, and the lines in it for single threads.
my ($all, $told_all, %said, %open, $mark, $part, $ran) = ("", "");
# What is read of stat: up to the parent, flags, times of the process and of its children, threads, start, resident memory.
my $fields_of_stat = qr/^(.*\) (\S+) \S+)(?: \S+){4} (\d+)(?: \S+){4}( \S+ \S+( \S+ \S+)) \S+ \S+( \S+) \S+( \S+) \S+( \S+) /s;
my ($turn, $listed, $listing, $ended, $counters, @now) = (0, "");
# The process that reads proportional memory, and the end of its answer.
my ($beside, $beside_end);
# The shell beside this program: the socket that leads to it, and its process.
my ($shell, $shell_pid);
%orders = (
    %orders,
    # a mark: a line of its own, with a word that cannot be in any file
    m => sub { put("\n#$_[0]\n"); send_out() if $_[0] =~ /[.]$/ },
    # a mark, and what head would print of the uptime alone
    U => sub { put("\n#$_[0]\n==> /proc/uptime <==\n", text_of("/proc/uptime"), "\n") },
    # forget what was told before: it was not heard
    n => sub { %before = %said = (); $told_all = "" },
    f => sub {
        @files = split / /, $_[0];
        %settings = map { $_ => 1 } grep m{/(?:@SETTINGS@)$}, @files;
        delete @open{grep m{^/}, keys %open};
    },
    g => sub {
        my ($name, $wanted) = split / /, $_[0], 2;
        $wanted =~ s/(?<!\\)\((?!\?)/(?:/g; # what is in parentheses would be told instead of the line
        $lines{$name} = qr/$wanted.*\n/m;
    },
    z => sub { $asleep{$_} = 1 for split / /, $_[0] },
    w => sub {
        my @awake = split / /, $_[0];
        delete @asleep{@awake};
        # what has run since its stat was read is read as a whole
        for (map $said{$_} || (), @awake) {
            @$_[4, 9] = (0, 0);
            $_->[1] = "" if $_->[5];
        }
    },
    t => sub {
        delete @before{map "$_/schedstat", keys %waits};
        @{$said{$_}}[1 .. 3, 9] = () for grep $said{$_}, keys %waits;
        %waits = map { m{^(\d+)/task/(.*)} ? ($1, $2 eq $1 ? 1 : 2) : () } split / /, $_[0];
        for (grep $said{$_}, keys %waits) {
            @{$said{$_}}[1 .. 3, 9] = ();
            $said{$_}[0] = "" if $waits{$_} == 2;
        }
    },
    s => \&sample,
    # the threads to look at until the next sample; first tells what was seen of the earlier ones
    W => sub {
        look() unless %waiting;
        put("\n#${mark}w\n", map "$_$waiting{$_}\n", keys %waiting) if %waiting;
        %waiting = ();
        @threads = split / /, $_[0];
        $moments = @threads ? int(@LOOKS@ / @threads) || 1 : 0;
        $moments = @MOMENTS@ if $moments > @MOMENTS@;
        wake() if $readings;
    },
    # the first bytes of files of the kernel, some of which block and are read by another process; and of regular files
    h => sub {
        my ($limit, @names) = split / /, $_[0];
        my $waits = grep !m{^/dev/null$|^/proc/(?:(?:net|self)/)?\w+$|^/proc/\d+/status$}, @names;
        put($waits ? apart(\&head_of, $limit, @names) : map(head_of($_, $limit), @names), "\n");
    },
    c => sub {
        my ($limit, @names) = split / /, $_[0];
        put("==> /dev/null <==\n", apart(\&head_of_regular, $limit, @names), "\n");
    },
    # a mark, and processes whose proportional memory is wanted. One deep in swap can hold that up: it is read beside
    # everything else, and comes on the other stream.
    b => sub {
        my ($name, @pids) = split / /, $_[0];
        end_beside(0) if defined $beside_end;
        send_out();
        write_all(*STDERR, "\n#$name\n");
        $beside_end = "\n#$name.\n";
        $beside = start(@MEMORY_S@, sub {
            close STDOUT;
            write_all(*STDERR, head_of($_, 4096)) for "/dev/null", map "$_/smaps_rollup", @pids;
        });
    },
    # a directory of links, the sockets that some processes hold, and which processes hold some sockets
    D => sub { put(links($_[0]), "\n") },
    l => sub { held({}, split / /, $_[0]) },
    o => sub { held({ map { ("socket:[$_]", 1) } split / /, $_[0] }, processes()) },
);
sub sample {
    my @more;
    ($mark, @more) = split / /, $_[0];
    ($part, $ran, my $same, my $threads) = ("\n#$mark\n", "", "", 0);
    ++$turn;
    delete @stays{grep $stays{$_}[1] < time - 30, keys %stays};
    $counters = "";
    for (@files) {
        next if $settings{$_} && $turn % @SETTINGS_EVERY@ && defined $before{$_};
        my $text = text_of($_, 1);
        $counters = $text if $_ eq "/proc/stat";
        add($_, $text);
    }
    for (@more) { add($_, text_of($_, /^\d/)); delete $before{$_} }
    $counters = text_of("stat", 1) if $counters eq "";
    list_processes();
    $part .= "\n#${mark}l\n" . ($told_all = $all) if $told_all ne $all;
    # While anything waits for a disk, the state of every process that has run is read.
    my $calm = $counters =~ /^procs_blocked 0$/m;
    for (@now) {
        my $due = ($_ + $turn) % @IDLE_EVERY@;
        next if $due && $asleep{$_};
        my ($said, $waited) = $said{$_};
        # What has run for less than a tick since its stat was read is read with every second sample: half of these processes
        # with each.
        if ($calm && $said && $said->[9] && ($due & 1)) { $same .= " $_"; next }
        # One thread that has not run since has the same stat, but for memory that was taken from it, another parent, and
        # a wait for a processor that has just begun: these come some samples later. So does the whole stat of a process
        # that was asleep, has started no others, and has run for less than 10 ms (a tick). Sooner comes that of one that
        # was not read often yet, or has other threads now: that makes a fourth link to the directory of its threads. That
        # of a thread of the kernel comes only when it has run for a tick.
        if ($said && $said->[2] && sysseek($said->[2], 0, 0) && sysread $said->[2], $waited, 99) {
            my $other = $waits{$_} ? ($_ + $turn) % @SETTLED_EVERY@ : $due;
            if ($said->[10] || ($said->[6] ? $other && ($due % 10 || (stat "$_/task")[3] == 3) : $due % 5)) {
                $said->[9] = $said->[6];
                if ($waited eq $said->[1] && ($calm || !$said->[5])) { $same .= " $_"; next }
                if ($calm && $said->[4] && $waited - $said->[3] < 1e7 && $waited >= $said->[3]) {
                    $said->[1] = $waited;
                    $ran .= "$_ $waited" if $waits{$_};
                    $said->[5] = 1;
                    $same .= " $_";
                    next;
                }
            }
        }
        $same .= " $_" unless process($_, $waited, \$threads);
    }
    $part .= "\n#${mark}t\n$ran" if $ran ne "";
    put($part, "\n#$mark=\n$same\n");
}
# All processes: another list only where one has begun, by what the kernel counts, or ended, by the links of /proc, and
# now and then in any case.
sub list_processes {
    my ($started) = $counters =~ /^processes (.*)/m;
    $started .= " " . (stat ".")[3] if $started;
    return if @now && !$ended && $started && $started eq $listed && $turn % @IDLE_EVERY@;
    ($listed, $ended) = ($started || "", 0);
    @now = processes();
    forget() if "@now" ne $all;
}
# Where threads wait now, as thread_looks.py does.
sub look {
    --$moments;
    for my $thread (@threads) {
        my $directory = $thread =~ m{/} ? $thread : "$thread/task/$thread";
        my ($file, $line) = $open{"$directory/wchan"};
        $line = text_of("$directory/wchan", 1) unless $file && sysseek($file, 0, 0) && sysread $file, $line, 99;
        next if $line eq "";
        if ($line =~ /^(?:@EPOLL@)/) { $line .= " " . text_of("$directory/syscall") }
        elsif ($line eq "0" ? !$> : $line !~ /^(?:@AT_EASE@)/) { $line .= " $1" if text_of("$directory/stat") =~ /.*\) (\w)/s }
        chomp $line;
        $waiting{$thread} .= "\t$line";
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
# The text of a file of the kernel. One that stays open is read again from its beginning, and opened again where that
# fails; the file of a process comes as one piece, and what is shorter than half the buffer of the kernel (4096) is its end,
# unless the next line can be longer than the other half: locks (with all that wait for one), mounts, and swap files. A process
# can usually have 1024 files open.
my $long_lines = qr/(?:locks|mountinfo|swaps)$/;
sub text_of {
    my ($name, $stays) = @_;
    my ($file, $text) = ($open{$name}, "");
    return $text if $file && sysseek($file, 0, 0) && defined whole($file, $name, \$text);
    delete $open{$name};
    open($file, "<", $name) || return "";
    whole($file, $name, \$text);
    $open{$name} = $file if $stays && keys %open < 900 && $name =~ m{^(?:\d|stat$|/proc/(?!\d+/net/)|/sys/)};
    $text;
}
# The first bytes of a file, or why it cannot be read, as head prints that of several.
sub head_of {
    my ($name, $limit) = @_;
    my ($text, $read) = ("", 1);
    if (open my $file, "<", $name) {
        $read = sysread $file, $text, $limit - length $text, length $text while $read && length $text < $limit;
        return "\n==> $name <==\n$text" if defined $read;
    }
    "head: $name: $!\n";
}
# The same of a file that anyone may have put there. A pipe or a device is not opened, and what says that it is empty is
# not read: some of the files of the kernel say so and wait.
sub head_of_regular {
    my ($name, $limit) = @_;
    return -f _ ? "\n==> $name <==\n" : "head: $name: not a regular file\n" if -e $name && !(-f _ && -s _);
    head_of($name, $limit);
}
sub whole {
    my ($file, $name, $text) = @_;
    return sysread $file, $$text, 4096 if $name =~ /^\d/;
    $$text = "";
    my $read;
    while ($read = sysread $file, $$text, 65536, length $$text) {
        last if $read < 2048 && $name !~ /$long_lines/ || length $$text > @LIMIT@;
    }
    if (my $line = $lines{$name}) { $$text = join "", $$text =~ /$line/g }
    $read;
}
# Whether there was anything new to tell of a process. Of one thread, schedstat stays open, if the kernel counts there.
sub process {
    my ($pid, $waited, $threads) = @_;
    my ($wanted, $said) = ($waits{$pid}, $said{$pid} ||= [""]);
    if ($wanted ? $wanted == 1 : $said->[8] && ($said->[2] || keys %open < 550)) {
        $waited = text_of("$pid/schedstat", 1) unless $waited;
        $ran .= "$pid $waited" if $wanted && $waited ne "" && (!defined $said->[1] || $said->[1] ne $waited);
        @$said[1 .. 3] = ($waited, $waited =~ /^[1-9]/ ? ($open{"$pid/schedstat"}, $waited + 0) : ());
    }
    @$said[5, 9] = (0, 0);
    $said->[6] = $said->[2] && ++$said->[7] > 3;
    # Without schedstat, stat is read often. Others have to leave room for the processes of servers.
    delete $open{"$pid/schedstat"} unless $said->[2];
    delete $open{"$pid/stat"} if !$wanted && $said->[2];
    my $stat = text_of("$pid/stat", $wanted || !$said->[2] && keys %open < 550);
    if ($stat eq "") { $ended = 1; return add("$pid/stat", "") }
    return 0 if $stat eq $said->[0];
    $said->[0] = $stat;
    # 0 for what nobody needs: most of it changes all the time, and would have to be sent
    if ($stat =~ $fields_of_stat) {
        $said->[4] = ($2 eq "S" || $2 eq "I") && $5 eq " 0 0"; # I: a thread of the kernel
        $said->[8] = $6 eq " 1";
        $said->[10] = $3 & 0x200000; # PF_KTHREAD
        @$said[1 .. 3] = () unless $said->[8];
        $stat = "$1 0 0 0 0 0 0 0 0 0$4 0 0$6 0$7 0$8 0\n";
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
# Tells the sockets that processes hold, or only those wanted: a process and a socket a line. Anyone can open millions of
# files: of each process the first 2000 are read, and for a second of a processor.
sub held {
    my ($wanted, @pids) = @_;
    my $end = spent() + 1;
    for my $pid (@pids) {
        opendir(my $entries, "$pid/fd") || next;
        my %told;
        for (my $links = 0; $links < 2000 && defined(my $name = readdir $entries); ++$links) {
            my $target = readlink "$pid/fd/$name";
            next unless defined $target && (%$wanted ? $wanted->{$target} : $target =~ /^socket:/);
            put("$pid $target\n") unless $told{$target}++;
        }
        return if spent() > $end;
    }
}
sub spent { my ($user, $system) = times; $user + $system }
# Starts a process for some work, for so many seconds at most. It kills itself when it is done: a normal exit would free
# its memory, and copy what it shares with this process for that.
sub start {
    my ($limit, $work) = @_;
    my $pid = fork;
    return $pid if $pid || !defined $pid;
    close $shell if $shell;
    $SIG{ALRM} = "DEFAULT";
    alarm $limit;
    $work->();
    kill "KILL", $$;
}
# The first bytes of files, read by another process: a dead file system, or a process deep in swap, can hold that up for
# ever. Nothing is done here meanwhile but what the timer does.
sub apart {
    my ($head, $limit, @names) = @_;
    my ($text, $read) = ("", 1);
    pipe(my $answer, my $end) || return "";
    my $pid = start(2, sub { write_all($end, $head->($_, $limit)) for @names });
    close $end;
    while (!defined $read && $! == 4 || $read) { $read = sysread $answer, $text, 65536, length $text }
    waitpid $pid, 0 if $pid;
    $text;
}
# Prints the end mark of the proportional memory, if the process that reads it has ended; with 0, waits for that.
sub end_beside {
    return if $beside && !waitpid $beside, shift;
    write_all(*STDERR, $beside_end);
    undef $beside_end;
}
# Passes an order to the shell, and waits until its answer is complete. Both print to the same output. A shell that has
# ended is started again. Most of its commands have a time limit of their own; that of an order is a minute.
sub pass_on {
    send_out();
    undef $shell if $shell && waitpid $shell_pid, 1;
    start_shell() unless $shell;
    local $SIG{PIPE} = "IGNORE";
    $readings ? $heard = time + 60 : alarm(60 + @SILENCE@);
    syswrite $shell, "$_[0]\n";
    defined <$shell> || die "the shell beside it ended\n";
}
sub start_shell {
    my $stream = eval { require Socket; Socket::SOCK_STREAM() } || 1; # 2 where the processor is a MIPS
    socketpair($shell, my $end, 1, $stream, 0) || die "no shell beside it: $!\n";
    $shell_pid = fork;
    defined $shell_pid || die "no shell beside it: $!\n";
    if ($shell_pid) { close $end; return }
    open(STDIN, "<&", $end);
    exec "sh", "-c", $ARGV[0];
    exit 1;
}
while ($heard = time, $readings || alarm(@SILENCE@), defined(my $line = <STDIN>)) {
    chomp $line;
    end_beside(1) if defined $beside_end;
    next unless $line =~ /^(\w) ?(.*)/;
    $orders{$1} ? $orders{$1}->($2) : pass_on($line);
}
