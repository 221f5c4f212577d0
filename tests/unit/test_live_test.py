"""A live test that fails before its first interval."""

from pathlib import Path

import pytest

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.live_test import LiveTest
from loadtop.cli.load import Load
from loadtop.cli.options.command_line import parse
from loadtop.cli.options.table import Options
from loadtop.pipeline.feed import Feed


async def test_a_start_that_fails_leaves_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "x.loadtop"

    async def prepare() -> Load:
        assert path.exists()
        raise UsageError("the port is in use")

    async def run(feed: Feed, _: Options) -> bool:
        await feed.run(lambda _: None)
        return False

    test = LiveTest(parse(["watch", "--headless", "--record", str(path)]), "watching")
    with pytest.raises(UsageError):
        await test.run(prepare, run)
    assert not path.exists()
