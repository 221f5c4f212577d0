"""Make what is not written by hand: catalogues of translations, manual pages, and completion for shells."""

import sys
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPLETIONS = {
    "bash": "share/bash-completion/completions/loadtop",
    "zsh": "share/zsh/site-functions/_loadtop",
    "fish": "share/fish/vendor_completions.d/loadtop.fish",
}


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes each ``.mo`` file beside its ``.po`` file. A wheel also gets what belongs below ``share``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for source in Path(self.root).glob("loadtop/i18n/locale/*/LC_MESSAGES/*.po"):
            with source.open("rb") as text, source.with_suffix(".mo").open("wb") as compiled:
                write_mo(compiled, read_po(text))
        if self.target_name == "wheel" and version == "standard":
            build_data["shared_data"].update(self._write_shared_files())

    def _write_shared_files(self) -> dict[str, str]:
        """Files below ``build/share``, with where they go in an environment."""
        sys.path.insert(0, self.root)
        from loadtop.cli.options.completion import script
        from loadtop.cli.options.man_pages import man_pages

        texts = {f"share/man/man1/{name}": text for name, text in man_pages().items()}
        texts |= {place: script(shell) for shell, place in COMPLETIONS.items()}
        places: dict[str, str] = {}
        for place, text in texts.items():
            file = Path(self.root, "build", place)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            places[str(file)] = place
        return places
