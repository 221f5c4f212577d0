"""Apps on a terminal, which may disappear at any time: a window is closed, a connection is lost."""

import base64
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, ClassVar, Generic, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen

from tui.widgets.page import PageScreen

Answer = TypeVar("Answer")
SCREEN_PIECE = 500  # characters that GNU screen takes at once: 768 at most, since 4.0


class Outlet:
    def __init__(self, file: IO[str], gone: Callable[[], None]) -> None:
        self._file = file
        self._gone = gone

    def write(self, text: str) -> int:
        try:
            return self._file.write(text)
        except OSError:
            self._gone()
            return len(text)

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            self._gone()

    def fileno(self) -> int:
        return self._file.fileno()


class TerminalDriver(LinuxDriver):
    """Textual's driver; calls the app's ``hang_up`` once when the terminal is gone."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]
        self._told = False
        self._file: Any = Outlet(sys.__stderr__ or sys.stderr, self._tell)

    def _sigcont_application(self, *_: object) -> None:
        """Resume only what was suspended. The kernel sends SIGCONT after SIGHUP too; a second thread that reads keys,
        started while the first one ends, would keep the process alive."""
        if self._must_signal_resume:
            super()._sigcont_application()  # pyright: ignore[reportUnknownMemberType]

    def run_input_thread(self) -> None:
        """Read keys while there is a terminal. At the end of any other file Textual would read forever."""
        if not os.isatty(self.fileno):
            return
        try:
            super().run_input_thread()
        except OSError:
            self._tell()

    def _tell(self) -> None:
        hang_up = getattr(self._app, "hang_up", None)
        if hang_up is not None and not self._told:
            self._told = True
            with contextlib.suppress(RuntimeError):  # the app's loop has ended already
                self._app.call_later(hang_up)


class TerminalApp(App[Answer], Generic[Answer], inherit_bindings=False):
    """``Answer`` is what the app is left with."""

    ALLOW_SELECT = False
    ENABLE_COMMAND_PALETTE = False
    TITLE = "loadtop"

    def __init__(self, shown: Screen[None]) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.animation_level = "none"
        self._shown = shown

    def get_default_screen(self) -> Screen[None]:
        return self._shown

    def hang_up(self) -> None:
        """Leave because the terminal is gone; a signal may not have come."""
        self.exit()


class PageApp(TerminalApp[Answer], inherit_bindings=False):
    """Shows one page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,ctrl+c,ctrl+q", "leave", "quit", priority=True),
        Binding("p,ctrl+s", "picture", "picture"),
    ]

    def __init__(self, page: PageScreen) -> None:
        super().__init__(page)
        self.shown = page

    def on_key(self) -> None:
        """A message stays until the next key."""
        self.shown.message = ""

    def action_leave(self) -> None:
        self.exit()

    def action_picture(self) -> None:
        from tui.widgets.picture import save_picture

        self.shown.say(save_picture(self.screen, self.shown.appearance, self.shown.HEADING)[0])


def clipboard(text: str, environment: Mapping[str, str]) -> str:
    """The escape sequence that puts a text into the terminal's clipboard (OSC 52).

    GNU screen passes it on only in short wrapped pieces, and prints the rest of what is too long.
    """
    sent = f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"
    if "STY" not in environment:
        return sent
    return "".join(f"\x1bP{sent[at : at + SCREEN_PIECE]}\x1b\\" for at in range(0, len(sent), SCREEN_PIECE))


def abandon(numbers: Iterable[int]) -> None:
    """Redirect these standard files to /dev/null, so that no later read or write fails or blocks."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        os.dup2(nowhere, number)
    os.close(nowhere)
