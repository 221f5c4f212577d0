"""The cells gone through: in order, only the missing ones, and what becomes of a variant that cannot be applied."""

import asyncio
import errno
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.analysis.experiment.commands import CommandError, command_line, run_commands, wait_until_ready
from loadtop.analysis.experiment.plan import Cell, ExperimentPlan
from loadtop.analysis.experiment.results import CellResult, ResultFile
from loadtop.analysis.experiment.runner import Progress, Runner, VariantError
from tests.unit.analysis.experiment.conftest import a_result


class Lab:
    """Measures nothing, and keeps what it was asked for. It is cut short at cell number ``until``."""

    def __init__(self, plan: ExperimentPlan, until: int = 1000) -> None:
        self.cells: list[Cell] = []
        self.progress: list[Progress] = []
        self.results_file = ResultFile(plan.file.parent / "results")
        self._until = until
        self.runner = Runner(plan, self.results_file, self.measure, self.progress.append)

    async def measure(self, cell: Cell) -> CellResult | None:
        if len(self.cells) == self._until:
            return None
        self.cells.append(cell)
        result = a_result(cell)
        self.results_file.add(result)
        return result


def log(plan: ExperimentPlan) -> list[str]:
    return (plan.file.parent / "log").read_text().split()


async def test_every_cell_is_measured_and_variants_are_applied_once_in_a_row(plan: ExperimentPlan) -> None:
    lab = Lab(plan)
    assert await lab.runner.run()
    assert lab.cells == plan.cells()
    assert log(plan) == ["one", "two", "one", "two", "finished"]
    assert [progress.number for progress in lab.progress] == list(range(1, 9))
    left = [progress.left_s for progress in lab.progress]
    assert left[0] == pytest.approx(8 * 4.5)
    assert None not in left


async def test_an_interrupted_one_continues_where_it_stopped(plan: ExperimentPlan) -> None:
    first = Lab(plan, until=3)
    assert not await first.runner.run()
    assert log(plan)[-1] == "finished"
    second = Lab(plan)
    assert await second.runner.run()
    assert [*first.cells, *second.cells] == plan.cells()
    third = Lab(plan)
    assert await third.runner.run()
    assert third.cells == []


async def test_a_line_that_was_cut_off_is_measured_again(plan: ExperimentPlan) -> None:
    lab = Lab(plan)
    assert await lab.runner.run()
    text = lab.results_file.file.read_text()
    lab.results_file.file.write_text(text[:-40])
    again = Lab(plan)
    assert await again.runner.run()
    assert again.cells == [plan.cells()[-1]]
    assert len(again.results_file.read()) == 8


async def test_forged_results_are_left_out(plan: ExperimentPlan) -> None:
    file = ResultFile(plan.file.parent / "results")
    good = a_result(plan.cells()[0])
    file.add(good)
    line = file.file.read_text()
    made_up = (
        line.replace('"rps": 100.0', '"rps": "many"'),
        line.replace('"rps": 100.0', '"rps": 1e308'),
        line.replace('"requests": 1000', f'"requests": {"9" * 5000}'),
        line.replace('"bottleneck": "none"', f'"bottleneck": "{"x" * 2000}"'),
        "[" * 100_000 + "\n",
        "\udcff\n",
    )
    file.file.write_text("".join(made_up) + line, encoding="utf-8", errors="surrogateescape")
    assert file.read() == {good.key: good}


def test_a_pipe_in_the_place_of_results_is_not_waited_for(tmp_path: Path) -> None:
    file = ResultFile(tmp_path)
    os.mkfifo(file.file)
    assert file.read() == {}


async def test_a_variant_that_fails_stops_it_and_the_first_is_restored(plan: ExperimentPlan) -> None:
    (plan.file.parent / "broken").touch()
    lab = Lab(plan)
    with pytest.raises(VariantError) as error:
        await lab.runner.run()
    assert "variant two: 'test ! -e broken' ended with exit code 1" in str(error.value)
    assert str(error.value.restored) == "the first variant, one, is restored"
    assert log(plan)[:3] == ["one", "two", "one"]
    assert len(lab.cells) == 2


async def test_a_finish_command_that_fails_hides_no_other_failure(plan: ExperimentPlan) -> None:
    (plan.file.parent / "broken").touch()
    lab = Lab(replace(plan, finish=("false",)))
    with pytest.raises(VariantError):
        await lab.runner.run()
    assert str(lab.runner.finish_error) == "'false' ended with exit code 1"


async def test_a_machine_without_room_for_a_process_is_a_failed_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: str, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    with pytest.raises(CommandError, match="'true' cannot be run: Resource temporarily unavailable"):
        await run_commands(["true"], place=None, directory=tmp_path, seconds=10)


async def test_output_is_kept_and_time_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as error:
        await run_commands(["echo to out; echo to err >&2; exit 3"], place=None, directory=tmp_path, seconds=10)
    assert error.value.output == "to out\nto err\n"
    with pytest.raises(CommandError, match=r"did not end within 0\.2 s"):
        await run_commands(["sleep 60"], place=None, directory=tmp_path, seconds=0.2)


async def test_a_server_left_in_the_background_does_not_hold_the_runner(tmp_path: Path) -> None:
    await run_commands(["sleep 2 & echo $! > pid"], place=None, directory=tmp_path, seconds=1.5)
    os.kill(int((tmp_path / "pid").read_text()), 0)  # it stays


async def test_a_command_that_takes_too_long_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"did not end within 0\.5 s"):
        await run_commands(
            ["(trap '' TERM; sleep 60) & echo $! > pid; wait"], place=None, directory=tmp_path, seconds=0.5
        )
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_readiness(tmp_path: Path) -> None:
    await wait_until_ready("", place=None, directory=tmp_path, seconds=0.1)
    await wait_until_ready("true", place=None, directory=tmp_path, seconds=5)
    with pytest.raises(CommandError, match=r"not ready after 0\.3 s") as error:
        await wait_until_ready("http://127.0.0.1:9/", place=None, directory=tmp_path, seconds=0.3)
    assert "refused" in error.value.output


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: file:///\r\n\r\n", ""),
        (b"HTTP/1.1 100 Continue\r\nX: HTTP/1.1 500\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", ""),
        (b"HTTP/1.1 503 Busy\r\n\r\n", "it answers with 503"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000, "its response is not HTTP"),
        (b"x" * 200_000, "its response is not HTTP"),
        (b"", "its response is not HTTP"),
    ],
)
async def test_a_readiness_check_survives_any_response(answer: bytes, said: str, tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    ready = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/page?a=b"
    async with server:
        if said:
            with pytest.raises(CommandError) as error:
                await wait_until_ready(ready, place=None, directory=tmp_path, seconds=0.1)
            assert said in error.value.output
        else:
            await wait_until_ready(ready, place=None, directory=tmp_path, seconds=5)


def test_remote_commands_go_through_ssh() -> None:
    words = command_line("apachectl graceful", "ssh://root@web1:2222")
    assert words[0] == "ssh"
    assert words[-3:-1] == ["--", "ssh://root@web1:2222"]
    assert words[-1].endswith("loadtop 'apachectl graceful'")
    assert {"BatchMode=yes", "RemoteCommand=none"} <= set(words)


@pytest.mark.parametrize("place", [None, "local", "psutil"])
def test_commands_run_here_at_the_places_that_are_this_machine(place: str | None) -> None:
    assert command_line("true", place) == ["sh", "-c", "true"]
