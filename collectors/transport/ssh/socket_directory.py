"""Where the sockets of one SSH connection are: a directory that does not outlive this program, however that ends."""

import shutil
import subprocess
import tempfile
from pathlib import Path

_KEEPER = 'trap "" HUP INT TERM; read -r _; exec rm -rf -- "$1"'
"""Waits for the end of its input, which comes when this program has ended, however it did."""


class SocketDirectory:
    """A private temporary directory. A shell beside it removes it where this program is killed: ssh leaves the sockets
    of forwarded pages behind. Raises ``OSError`` where there can be no directory."""

    def __init__(self) -> None:
        # not where the name of a socket would be too long (108 bytes at most)
        short = None if len(tempfile.gettempdir()) < 50 else "/tmp"  # noqa: S108 - mkdtemp makes an unguessable one
        self.path = Path(tempfile.mkdtemp(prefix="loadtop-", dir=short))
        self._keeper: subprocess.Popen[bytes] | None = None
        try:
            self._keeper = subprocess.Popen(
                ["/bin/sh", "-c", _KEEPER, "sh", str(self.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what ends this program's group, or its terminal, is no end of it
            )
        except OSError:
            return  # no process can be started: ssh will say so

    def remove(self) -> None:
        """Remove it with all that is in it, and wait for the shell's end, which is at once."""
        shutil.rmtree(self.path, ignore_errors=True)
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.communicate()
