"""loadtop run in forks of a process that has imported all of it: imports are most of what a short run costs.

That process gets each command over a socket: its words, environment and directory as JSON, and the files that shall be
its standard streams. It answers with the exit code.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
PACKAGES = ("loadtop", "collectors")
LATER = ("aiohttp", "numpy", "uvloop")
"""What these import when they need it."""

MOST_BYTES = 1 << 17


def run(words: tuple[str, ...], env: Mapping[str, str], timeout: float) -> "subprocess.CompletedProcess[str]":
    """As ``subprocess.run`` would, without anything on standard input."""
    server, process = _server()
    command = json.dumps([words, dict(env), str(Path.cwd())]).encode()
    with Path(os.devnull).open() as nothing, _output() as out, _output() as errors:
        socket.send_fds(server, [command], [nothing.fileno(), out.fileno(), errors.fileno()])
        server.settimeout(timeout)
        try:
            code = int(server.recv(MOST_BYTES))
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            _server.cache_clear()
            raise subprocess.TimeoutExpired(words, timeout, _text(out), _text(errors)) from None
        return subprocess.CompletedProcess(words, code, _text(out), _text(errors))


def _output() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8")


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


@functools.cache
def _server() -> "tuple[socket.socket, subprocess.Popen[bytes]]":
    """One for each process of pytest. It ends with the other end of its socket."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        command = [sys.executable, "-m", __name__, str(its.fileno())]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()], start_new_session=True
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours, process


def _serve(commands: socket.socket) -> None:
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in LATER:
        importlib.import_module(name)
    gc.freeze()
    while True:
        command, files, _, _ = socket.recv_fds(commands, MOST_BYTES, 3)
        if not command:
            return
        pid = os.fork()
        if pid == 0:
            commands.close()
            words, env, directory = json.loads(command)
            _run(words, env, directory, files)
        for file in files:
            os.close(file)
        _, status = os.waitpid(pid, 0)
        commands.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(words: list[str], env: dict[str, str], directory: str, files: list[int]) -> None:
    from loadtop.cli import main

    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(directory)
    sys.argv = ["loadtop", *words]
    sys.exit(main())


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
