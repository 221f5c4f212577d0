"""Services of no kind that loadtop knows: small programs that answer HTTP, or pass it on."""

import contextlib
import sys
import textwrap
from collections.abc import Sequence

from tests.servers.program import Program, Server, answers, free_port, server_directory

BURNING = """
    import os, socketserver, sys, time

    class Answer(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            end = time.thread_time() + 0.02
            while time.thread_time() < end:
                pass
            self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n")

    socketserver.TCPServer.allow_reuse_address = True
    socketserver.TCPServer.request_queue_size = 128
    server = socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Answer)
    for _ in range(int(sys.argv[2])):
        os.fork()
    server.serve_forever()
"""
"""One thread, which takes 20 ms of the processor for each request; its second argument is how often it forks."""

FORWARDING = """
    import asyncio, sys

    async def copy(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def serve(reader, writer):
        there = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    async def main():
        async with await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1])) as server:
            await server.serve_forever()

    asyncio.run(main())
"""
"""A reverse proxy: every connection is passed on to the port that its second argument names."""

LOCKING = """
    import fcntl, os, socketserver, sys, tempfile, time

    file = tempfile.TemporaryFile()

    class Answer(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
            time.sleep(0.02)
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)
            self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n")

    socketserver.TCPServer.allow_reuse_address = True
    socketserver.TCPServer.request_queue_size = 128
    server = socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Answer)
    byte = 0
    for number in range(1, int(sys.argv[2])):
        if os.fork() == 0:
            byte = number if int(sys.argv[3]) else 0
            break
    server.serve_forever()
"""
"""So many processes, its second argument; each holds a byte of a file for 20 ms, its own if the third is 1."""

OVERFLOWING = """
    import socket, sys, time

    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1) as listener:
        while True:
            connection, _ = listener.accept()
            connection.recv(65536)
            time.sleep(0.05)
            connection.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n")
            connection.close()
"""
"""Serves one connection after the other, in 50 ms each, and lets one more wait."""

PLACES = """
    import socketserver, sys, threading, time

    places = threading.Semaphore(int(sys.argv[2]))

    class Answer(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            with places:
                time.sleep(0.05)
            self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n")

    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer.request_queue_size = 128
    socketserver.ThreadingTCPServer.daemon_threads = True
    socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
"""Has so many places, its second argument, in each of which a request takes 50 ms; the others queue for one."""

UNIX = """
    import os, socketserver, sys, threading, time

    number = int((sys.argv[3:] or [1000])[0])
    places = threading.Semaphore(number or 1)
    server_class = socketserver.ThreadingUnixStreamServer if number else socketserver.UnixStreamServer

    class Answer(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            with places:
                time.sleep(float((sys.argv[4:] or [0.05])[0]))
            self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n")

    socketserver.TCPServer.allow_reuse_address = True
    socketserver.TCPServer.request_queue_size = 128
    server = server_class(sys.argv[2], Answer)
    os.chmod(sys.argv[2], 0o666)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
"""Answers in 50 ms, or its fourth argument in s, at a unix socket too, its second one; in so many places, its third.
With 0, it accepts a connection only after it has answered the one before."""

RESETTING = """
    import random, socketserver, struct, sys, socket

    class Answer(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            if random.random() < float(sys.argv[2]):
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.request.close()
            else:
                self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n")

        def finish(self):
            if self.request.fileno() >= 0:
                super().finish()

    socketserver.TCPServer.allow_reuse_address = True
    socketserver.TCPServer.request_queue_size = 128
    socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
"""Resets a share of the connections, its second argument, before it answers."""


class Service(Server, frozen=True):
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


class ServiceFactory:
    """Starts services and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(self, source: str, *words: object, launcher: Sequence[str] = ()) -> Service:
        """Start a Python program that listens at the port which is its first argument; ``words`` are the others."""
        directory, port = self._servers.enter_context(server_directory()), free_port()
        script = directory / "service.py"
        script.write_text(textwrap.dedent(source))
        command = [sys.executable, str(script), str(port), *map(str, words)]
        program = self._servers.enter_context(Program(command, log=directory / "output.log", launcher=launcher))
        program.wait_until(lambda: answers(port))
        return Service(program, port)
