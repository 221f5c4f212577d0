"""Pages that take something in particular, and little else."""

WAITING = "<?php usleep(200000); echo 'waited';"
SHORTLY = "<?php usleep(60000); echo 'waited a little';"
TOGETHER = "<?php usleep(100000 - (int)(microtime(true) * 1e6) % 100000); echo 'waited for the others';"
"""Ends with the next tenth of a second, with all others: their clients come back in a burst."""
COMPUTING = "<?php for ($i = 0; $i < 600000; $i++) { $x = sqrt($i); } echo 'computed';"
"""The same work each time, however busy the processor is: about 5 ms."""

ALLOCATING = """<?php
ini_set('memory_limit', '-1');
$size = 12 << 20;
$text = str_repeat('x', $size);
for ($pass = 0; $pass < 3; $pass++) {
    usleep(30000);
    for ($at = $pass; $at < $size; $at += 4096) { $text[$at] = 'y'; }
}
echo strlen($text);
"""
"""12 MB for about 0.1 s, touched three times: what swapping is made of."""

LOCKED = """<?php
$lock = fopen(__DIR__ . '/lock' . getmypid() % LOCKS, 'c');
flock($lock, KIND);
usleep(20000);
flock($lock, LOCK_UN);
echo 'was alone';
"""
"""Holds one of LOCKS locks, by turns of the workers, for 20 ms; with KIND = LOCK_SH no one waits for anybody."""


def locked(locks: int, *, exclusive: bool) -> str:
    """A page whose requests wait for each other, though nothing of the machine is full."""
    return LOCKED.replace("LOCKS", str(locks)).replace("KIND", "LOCK_EX" if exclusive else "LOCK_SH")
