"""Where the stats servers of a uWSGI are, by its command line and the files that these name.

Source: uWSGI's documentation, "Configuring uWSGI" and "The uWSGI Stats Server": every option can be on the command line
or in an ini, YAML or JSON file; ``%n`` is the file's name without its ending, ``%d`` its directory, ``%(NAME)`` what
another option of the file was set to. An emperor starts one uWSGI for each file in a directory.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from collectors.config_files import View, command_options, read_config
from collectors.machine import lines_of
from collectors.places import here

_OPTION = re.compile(r"[\s\"']{0,99}([\w-]{1,99})[\"']?\s{0,99}[=:]\s{0,99}[\"']?([^\s\"',;]{1,4096})")
_VARIABLE = re.compile(r"%\(([\w-]{1,99})\)|%([dn])")
_KINDS = ("ini", "yaml", "yml", "json")
_FILE = re.compile(rf"(.{{1,4000}}\.(?:{'|'.join(_KINDS)}))(?::[\w-]{{1,99}})?", re.DOTALL)
_ADDRESS = re.compile(r"/.{1,4096}|[^/@]{0,255}:\d{1,5}", re.ASCII)
_STATS = ("stats", "stats-server")


async def stats_servers(view: View, pid: int) -> list[tuple[str, ...]]:
    """The addresses of the stats servers of a process: of each file, and of the command line, one answers. Raises
    ``TransportError``."""
    options = list(command_options(view.command))
    paths = [match[1] for _, value in options if (match := _FILE.fullmatch(value))]
    paths += [posixpath.join(value, f"*.{kind}") for name, value in options if name == "emperor" for kind in _KINDS]
    of_files = [path for path in paths if path.startswith("/")]
    # As seen from outside, this link leads to where the process is, whatever its root directory.
    relative = [f"/proc/{pid}/cwd/{path}" for path in paths if not path.startswith("/")]
    configs = [await read_config(view, of_files), await read_config(replace(view, root=""), relative)]
    files = [(path, options_of(lines_of(text))) for config in configs for path, text in config.files.items()]
    found = (parse(path, options) for path, options in [("", options), *files])
    return [addresses for addresses in found if addresses]


def parse(path: str, options: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The stats servers that the options of one file name."""
    options = list(options)
    known = dict(options) | {"n": posixpath.basename(path).rpartition(".")[0], "d": f"{posixpath.dirname(path)}/"}
    values = (
        _VARIABLE.sub(lambda found: known.get(found[1] or found[2], ""), value)
        for name, value in options
        if name in _STATS
    )
    return tuple(dict.fromkeys(here(value) for value in values if _ADDRESS.fullmatch(value)))


def options_of(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The options in the lines of a file, each with its value."""
    return ((found[1], found[2]) for line in lines if (found := _OPTION.match(line)))
