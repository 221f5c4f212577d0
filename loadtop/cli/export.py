"""``loadtop export``: a recording in the formats of other tools."""

import asyncio
import re
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import aclosing, suppress
from pathlib import Path

from loadtop.cli.exit_codes import FileError, UsageError
from loadtop.cli.options.table import Options
from loadtop.cli.recordings import opened
from loadtop.i18n import plain
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.reader import Session
from loadtop.reports.export.hdr import hdr_log
from loadtop.reports.export.sar import sar
from loadtop.reports.export.tables import json_lines, write_csv, write_sqlite

SMALLEST, GREATEST = (60, 20), (400, 200)  # columns and rows of a film


def main(options: Options) -> None:
    if not (options.csv or options.jsonl or options.sqlite or options.sar or options.cast or options.hdr):
        formats = "--csv DIR, --jsonl FILE, --sqlite FILE, --sar, --hdr FILE or --cast FILE"
        raise UsageError(f"choose an export format: {formats}")
    if options.jsonl == "-" and options.sar:
        raise UsageError(
            "--jsonl - and --sar both write to standard output. Use a file for --jsonl, or run export twice."
        )
    size = _size(options.size)
    with opened(options.session) as session:
        try:
            _export(session, options, size)
        except OSError as error:
            where = error.filename or options.cast or options.jsonl or options.csv
            raise FileError(f"cannot write the export to {where}: {error.strerror}") from None


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text, re.ASCII)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(low <= n <= high for n, low, high in zip(size, SMALLEST, GREATEST, strict=True)):
        limits = " to ".join(f"{width}x{height}" for width, height in (SMALLEST, GREATEST))
        raise UsageError(f"--size '{text}': write COLUMNSxROWS, {limits}")
    return size


def _export(session: Session, options: Options, size: tuple[int, int]) -> None:
    if options.csv is not None:
        written = write_csv(snapshots(session.frames()), options.csv)
        print(f"{len(written)} files in {plain(str(options.csv))}", file=sys.stderr)
    if options.jsonl == "-":
        _print(json_lines(snapshots(session.frames()), session.meta))
    elif options.jsonl is not None:
        with Path(options.jsonl).open("w", encoding="utf-8") as file:
            file.writelines(json_lines(snapshots(session.frames()), session.meta))
    if options.sqlite is not None:
        try:
            write_sqlite(snapshots(session.frames()), session.meta, options.sqlite)
        except FileExistsError:
            raise FileError(f"{options.sqlite} already exists: move it or use another file") from None
        except sqlite3.Error as error:
            raise FileError(f"cannot write the export to {options.sqlite}: {error}") from None
    if options.sar:
        lines = list(sar(snapshots(session.frames()), options.host))
        if options.host is not None and not lines:
            raise UsageError(
                f"--host {options.host}: this host is not in the recording. Without --host, all hosts are shown."
            )
        # Tabs in sar's first line stay.
        _print("\t".join(map(plain, line.split("\t"))) + "\n" for line in lines)
    if options.hdr is not None:
        with options.hdr.open("w", encoding="ascii") as file:
            file.writelines(hdr_log(snapshots(session.frames()), session.meta.started))
    if options.cast is not None:
        asyncio.run(_cast(session, options.cast, size))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line)
        if getattr(sys.stdout, "gone", False):  # the reader has ended
            return
    sys.stdout.flush()


async def _cast(session: Session, path: Path, size: tuple[int, int]) -> None:
    from tui.apps.asciicast import asciicast

    meta = session.meta
    with path.open("w", encoding="utf-8") as file, suppress(asyncio.CancelledError):
        frames = snapshots(session.frames())
        async with aclosing(asciicast(frames, meta.url or meta.title, meta.interval_s, meta.started, size)) as lines:
            async for line in lines:
                file.write(line + "\n")
