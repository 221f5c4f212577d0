"""The page of a report in a real browser: drawn, silent, alone, and to be read by keyboard, in light and in dark."""

import json
import re
import socket
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from loadtop.recording.reader import Session, result_of
from loadtop.reports.html import html
from tests.lab.keeping import unpack
from tests.servers.program import find_program

KEPT = Path(__file__).parents[1] / "fixtures" / "lab" / "fpm-workers-2-children--waiting-page.frames.xz"
PATIENCE_S = 100

WATCH = """<script>
  window.problems = [];
  addEventListener("error", (event) => problems.push(`error: ${event.message}`), true);
  addEventListener("unhandledrejection", (event) => problems.push(`rejected: ${event.reason}`));
  addEventListener("securitypolicyviolation", (event) => problems.push(`kept from ${event.blockedURI}`));
  for (const name of ["error", "warn"]) console[name] = (...words) => problems.push(words.join(" "));
</script>"""
"""Comes before everything else in the page."""

ASK = """<script>
  const charts = document.getElementById("charts"), said = document.getElementById("said");
  const state = () => ({
    at: Number(charts.getAttribute("aria-valuenow")), said: said.textContent,
    lines: [...charts.querySelectorAll(".cursor")].map((line) => [line.style.visibility, line.getAttribute("x1")]),
    values: [...charts.querySelectorAll("output[data-curve]")].map((output) => output.textContent),
  });
  const press = (key) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    const free = document.activeElement.dispatchEvent(event);
    return { key, taken: !free, ...state() };
  };
  const begun = state();
  charts.focus();
  const keys = KEYS.map(press);
  const box = charts.querySelector("svg").getBoundingClientRect();
  const middle = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
  charts.querySelector("svg").dispatchEvent(new PointerEvent("pointermove", middle));
  const answer = {
    begun, keys, pointed: state(),
    focused: document.activeElement === charts,
    drawn: [...charts.querySelectorAll("svg path, svg polyline")].map((path) => ({
      length: path.getTotalLength(), width: path.getBoundingClientRect().width, ink: getComputedStyle(path).stroke,
      fill: getComputedStyle(path).fill, shown: path.checkVisibility(),
    })),
    wide: document.documentElement.scrollWidth - innerWidth,
    paper: getComputedStyle(document.body).backgroundColor, text: getComputedStyle(document.body).color,
    loaded: performance.getEntriesByType("resource").map((each) => each.name),
  };
  setTimeout(() => {
    const told = document.createElement("pre");
    told.id = "answer";
    told.textContent = JSON.stringify({ ...answer, problems });
    document.body.append(told);
  }, 500);
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a real test."""
    with Session(unpack(KEPT, tmp_path_factory.mktemp("kept"))) as session:
        return html(result_of(session))


def browse(page: str, folder: Path, *options: str, fragment: str = "") -> "subprocess.CompletedProcess[str]":
    """Open the page in a browser of its own, which ends by itself."""
    browser = find_program(
        "chromium-headless-shell", "chromium", "google-chrome", install="apt-get install chromium-headless-shell"
    )
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", f"--user-data-dir={folder / 'profile'}", "--window-size=1000,900",
        "--virtual-time-budget=3000", *options, f"{file.as_uri()}{fragment}",
    ]  # fmt: skip
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)


def asked(page: str, folder: Path, *options: str, keys: tuple[str, ...] = (), fragment: str = "") -> Any:
    """What the page says by itself after these keys."""
    probed = page.replace("<title>", f"{WATCH}<title>", 1).replace(
        "</body>", f"{ASK.replace('KEYS', json.dumps(keys))}</body>", 1
    )
    done = browse(probed, folder, "--dump-dom", *options, fragment=fragment)
    found = re.search('<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, (done.returncode, done.stderr[-2000:], done.stdout[-2000:])
    return json.loads(unescape(found[1]))


def place(state: Any) -> float:
    """Where the cursor stands."""
    return float(state["lines"][0][1])


def test_charts_are_drawn_and_a_cursor_moves_by_keys(page: str, tmp_path: Path) -> None:
    said = asked(page, tmp_path, keys=("ArrowRight", "ArrowRight", "End", "ArrowLeft", "v", "Home", "x", "Escape"))
    assert said["problems"] == []
    assert said["loaded"] == []
    assert said["wide"] <= 0  # nothing has to be scrolled sideways
    assert len(said["drawn"]) >= 4
    for path in said["drawn"]:
        assert path["shown"]
        assert path["length"] > 100
        assert path["width"] > 100
        assert path["ink"] != "none" or path["fill"] != "none"
    first, second, last, before, _, home, other, ended = said["keys"]
    assert said["focused"]
    assert [press["key"] for press in said["keys"] if not press["taken"]] == ["x"]
    assert 0 <= first["at"] < second["at"] < last["at"]
    assert place(first) < place(second) < place(before) < place(last)
    assert place(home) == place(first) == place(other)
    for press in (first, second, last, before, home):
        places = {tuple(line) for line in press["lines"]}
        ((visibility, _),) = places  # one place in all charts
        assert visibility == "visible"
        assert all(press["values"])
    assert {visibility for visibility, _ in ended["lines"]} == {"hidden"}
    assert not any(ended["values"])
    assert ended["said"] == said["begun"]["said"]
    assert first["at"] < said["pointed"]["at"] < last["at"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colours_of_the_desk_and_a_link_to_a_moment(page: str, tmp_path: Path, scheme: str) -> None:
    number = {"dark": 0, "light": 1}[scheme]
    said = asked(page, tmp_path, f"--blink-settings=preferredColorScheme={number}", fragment="#at=5")
    assert said["problems"] == []
    assert said["begun"]["at"] == pytest.approx(5, abs=1)
    paper, ink = (sum(map(int, re.findall(r"\d+", said[name])[:3])) for name in ("paper", "text"))
    assert (paper > 600 and ink < 200) if scheme == "light" else (paper < 200 and ink > 500)


def test_nothing_that_gets_into_it_reaches_the_network(page: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        there = f"http://127.0.0.1:{server.getsockname()[1]}"
        smuggled = f'<img src="{there}/a.png"><script>fetch("{there}/b").catch(() => 0)</script>'
        said = asked(page.replace("<h1>", f"{smuggled}<h1>", 1), tmp_path)
        with pytest.raises(TimeoutError):
            server.accept()
    kept = {problem for problem in said["problems"] if problem.startswith("kept from")}
    assert kept == {f"kept from {there}/a.png", f"kept from {there}/b"}


def test_it_prints(page: str, tmp_path: Path) -> None:
    paper = tmp_path / "page.pdf"
    done = browse(page, tmp_path, f"--print-to-pdf={paper}")
    assert paper.exists(), done.stderr
    assert paper.read_bytes().startswith(b"%PDF-")
    assert paper.stat().st_size > 20_000
