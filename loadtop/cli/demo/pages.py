"""The demo's pages, and what each costs the server."""

from msgspec import Struct


class Page(Struct, frozen=True):
    """A page that occupies a worker for ``wait_ms``, up to ``spread_ms`` longer, or computes for some 35 ms."""

    name: str
    text: str
    wait_ms: int = 0
    spread_ms: int = 1
    burns: bool = False

    @property
    def script(self) -> str:
        """The page as a CGI program for any POSIX shell, which responds at the end, as most programs do. Counting to a
        million takes awk some 35 ms."""
        steps = ["#!/bin/sh"]
        if self.wait_ms:
            steps.append(f"sleep 0.$(printf %03d $(({self.wait_ms} + $$ % {self.spread_ms})))")
        if self.burns:
            steps.append("awk 'BEGIN { for (i = 0; i < 1000000; i++) x += i }'")
        return "\n".join([*steps, rf"printf 'Content-Type: text/plain\r\n\r\n%s\n' '{self.text}'", ""])


INDEX = "<!doctype html><title>loadtop demo</title><p>This page costs next to nothing.\n"
LIGHT = Page("light", "This page takes 40 ms and hardly computes.", wait_ms=40)
# Waits of equal length would end together and empty the pool.
WAIT = Page("wait", "This page holds a worker for some 300 ms without computing.", wait_ms=250, spread_ms=100)
BURN = Page("burn", "This page computes and never waits.", burns=True)
PAGES = (LIGHT, WAIT, BURN)
