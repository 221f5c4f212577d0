"""Options that are wrong, or conflict: one line with the fix and exit code 2, before anything is sent."""

import shlex
from pathlib import Path

import pytest

from loadtop.cli import main
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.command_line import parse
from loadtop.cli.options.table import options_of

URL = "http://127.0.0.1:1/"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        # Values
        ("-c abc", ["-c must be a whole number, got 'abc'"]),
        ("--concurrency abc", ["--concurrency must be a whole number, got 'abc'"]),
        ("-n 0", ["-n must be a whole number of 1 or more, got '0'"]),
        ("--requests=0", ["--requests must be a whole number of 1 or more, got '0'"]),
        ("-n many", ["-n must be a whole number, got 'many'"]),
        ("-t 0", ["-t", "above 0"]),
        ("-s 0", ["-s"]),
        ("-s nan", ["above 0"]),
        ("-s 0.0005", ["-s 0.0005", "0.001 seconds or more"]),
        ("-s 1e8", ["-s must be a number below 10 million, got '1e8'"]),
        ("--rate=fast", ["--rate must be a number, got 'fast'"]),
        ("--rate 0", ["--rate", "above 0"]),
        ("--rate 1e9", ["--rate", "below 10 million"]),
        ("--warmup -1", ["--warmup", "0 or more"]),
        ("--warmup nan", ["--warmup", "0 or more"]),
        ("--warmup 1e9", ["--warmup", "below 10 million"]),
        (" ".join(f"--host h{n}=ssh://h{n}" for n in range(50)), ["too many hosts (51)", "at most 50"]),
        ("--interval -1", ["--interval must be a number of 0.1 or more, got '-1'"]),
        ("--interval 0.01", ["--interval must be a number of 0.1 or more, got '0.01'"]),
        ("--workers many", ["--workers must be a whole number, or auto, got 'many'"]),
        ("-c 5000 --workers 2000", ["--workers 2000", "1,024"]),
        ("-b 1000000000000", ["-b 1000000000000", "2,147,483,647 bytes"]),
        ("-v much", ["-v", "much"]),
        ("-m ''", ["''", "GET"]),
        ("--engine wrk", ["--engine must be one of builtin, locust, jmeter, got 'wrk'"]),
        ("--lang xx", ["--lang must be one of en, ja, got 'xx'"]),
        ("URL -n", ["-n needs a value: N (see loadtop --help)"]),
        ("sessions prune --keep 0", ["--keep must be a whole number of 1 or more, got '0'"]),
        ("compare --by day a b", ["--by must be one of step, time, got 'day'"]),
        *((f"{option} -", [f"{option} must be the name of a file, got '-'"]) for option in ("--html", "-g", "-e")),
        ("run --record -", ["name of a file"]),
        # What there is, and for which command
        ("run", ["no URL"]),
        ("run ftp://x/", ["http"]),
        ("run http://", ["host"]),
        ("--frobnicate", ["unknown argument '--frobnicate' (see loadtop --help)"]),
        ("replay", ["SESSION"]),
        ("replay --rate 5 x", ["--rate does not work with replay: leave it out (see loadtop replay --help)"]),
        ("watch -n 5", ["-n does not work with watch: leave it out (see loadtop watch --help)"]),
        ("watch --ab", ["needs a load"]),
        ("watch -w", ["needs a load"]),
        ("watch -e x -- ab -n1 URL", ["the command does not report"]),
        ("demo -g x", ["-g does not work with demo"]),
        # What contradicts
        ("run --record x --no-record", ["conflicts"]),
        ("experiment --again --check x", ["--again conflicts with --check. Use one of them."]),
        ("report --ab --text x", ["--text conflicts with --ab. Use one of them."]),
        ("-c 10 -n 5", ["-c 10", "-n 5", "lower -c"]),
        ("--steps 2,8 -n 5", ["step of 8", "-n 5"]),
        ("--steps 1,2 -c 4", ["--steps", "-c"]),
        ("--steps 1,2 -t 4", ["--steps", "-t", "--step-time"]),
        ("--step-time 3", ["--step-time", "--steps"]),
        ("--steps 1,x", ["'x'", "1,2,4,8"]),
        ("--steps 0,1", ["1 to"]),
        ("--workers 4 -c 2", ["--workers 4", "-c"]),
        ("-w --ab", ["-w", "--ab"]),
        ("-x border=1 --ab", ["-w", "--ab"]),
        # Requests
        ("-i -p BODY", ["-p", "-i", "conflicts"]),
        ("-u BODY -p BODY", ["-p", "-u", "conflicts"]),
        ("-i -m PUT", ["-i", "-m PUT"]),
        ("-T text/html", ["-T", "-p FILE"]),
        ("-A nobody", ["-A", "USER:PASSWORD"]),
        ("-C cookie", ["-C", "NAME=VALUE"]),
        ("-H header", ["-H", "Name: value"]),
        ("-H 'A: b\r\nC: d'", ["line"]),
        ("-A a:b -H 'authorization: Basic x'", ["-A", "-H"]),
        ("-p BODY -T a/b -H 'Content-Type: c/d'", ["-T", "-H"]),
        ("-k -H 'connection: Close'", ["-k", "Connection: close"]),
        ("-k -H 'Connection: foo, CLOSE'", ["-k", "Connection: close"]),
        ("-k -H 'Connection: foo' -H 'connection: close ,bar'", ["-k", "Connection: close"]),
        ("-H 'Content-Length: 5'", ["'Content-Length: 5'", "-p"]),
        ("-H 'content-length: much'", ["'Content-Length: much'", "-p"]),
        ("-p BODY -H 'Content-Length: 5'", ["'Content-Length: 5'", "3 bytes"]),
        ("-p BODY -H 'Content-Length: 3' -H 'Content-Length: 3'", ["Content-Length", "twice"]),
        ("-p BYTE -H 'Content-Length: 5'", ["'Content-Length: 5'", "of 1 byte."]),
        ("--urls LIST -H 'Content-Length: 3'", ["'Content-Length: 3'", "-p"]),
        ("-H 'Transfer-Encoding: chunked'", ["'Transfer-Encoding: chunked'", "-p"]),
        ("-p BODY -H 'transfer-encoding: chunked'", ["'Transfer-Encoding: chunked'", "Leave it out"]),
        # Connections
        ("-P a:b", ["-P", "-X HOST:PORT"]),
        ("-X 127.0.0.1:1 -P a:b -H 'Proxy-Authorization: x'", ["-P", "-H"]),
        ("-X http://127.0.0.1:1", ["-X 'http://127.0.0.1:1'", "HOST:PORT, without http://"]),
        ("-X 127.0.0.1:1/x", ["-X", "HOST:PORT"]),
        ("-X :x", ["-X", "HOST:PORT"]),
        ("-X ::1", ["-X '::1'", "HOST:PORT"]),
        ("-X a..b:1", ["-X 'a..b:1'", "HOST:PORT"]),
        ("-B ::1", ["-B ::1", "IPv6", "IPv4"]),
        ("-B here", ["-B must", "'here'"]),
        ("-f SSL3", ["-f must", "'SSL3'", "TLS1.3"]),
        ("-Z ROT13", ["-Z", "ROT13"]),
        ("-E BODY", ["-E", "certificate"]),
        ("-f TLS1.3 -Z HIGH", ["-Z HIGH", "-f TLS1.3"]),
        ("-f TLS1.2", ["-f needs", "https"]),
        ("-Z HIGH", ["-Z needs", "https"]),
        ("-I", ["-I needs", "https"]),
        ("--insecure", ["--insecure needs", "https"]),
        ("-I --insecure -f ALL", ["-f, -I, --insecure need", "https"]),
        ("--traceparent -H 'traceparent: x'", ["--traceparent", "-H 'traceparent: ...'"]),
        ("--engine locust --traceparent", ["--traceparent does not work with --engine locust"]),
        # Rules and machines
        ("--fail-if 'p99>500'", ["p99>500ms"]),
        ("--fail-if 'p9>5ms'", ["did you mean"]),
        ("--fail-if bottleneck=cpus", ["did you mean cpu"]),
        ("--fail-if 'db.cpu.idle<5%'", ["no host is called db"]),
        ("--fail-if 'p99>baseline+10%'", ["p99>baseline+10%", "add --baseline SESSION"]),
        ("--link fast", ["--link"]),
        ("--host web", ["NAME=local"]),
        ("--host a=local --host a=local", ["duplicate name"]),
        ("watch ssh://web1 ssh://web2", ["--host NAME=ssh://web1"]),
        ("--apache nonsense", ["server-status"]),
        ("--fpm nonsense", ["unix:/run/php/fpm.sock;/status"]),
        ("--fpm fcgi://no-port/status", ["fcgi://HOST:PORT/status"]),
        ("--haproxy web:nonsense", ["unix:/run/haproxy/admin.sock"]),
        # Another engine
        ("--engine gatling", ["--engine must be one of builtin, locust, jmeter, got"]),
        ("--engine locust -n 5", ["-n does not work with --engine locust: give a time with -t"]),
        ("--engine locust -g x", ["-g does not work with --engine locust"]),
        ("--engine jmeter --workers 2", ["--workers does not work with --engine jmeter: leave it out; one"]),
        ("--engine jmeter --workers auto", ["--workers does not work with --engine jmeter"]),
        ("--generator a=local", ["add --engine locust"]),
        ("--engine jmeter -R g1,,g2", ["HOST,HOST"]),
        ("--engine jmeter -R g1,g1", ["each only once"]),
        ("--engine jmeter -R -x", ["-R needs a value"]),
        ("--engine locust -R g1", ["add --engine jmeter"]),
        ("-R g1", ["add --engine jmeter"]),
        ("run --engine jmeter --plan p.jmx -n 3", ["-n has no effect with --plan"]),
        ("run --engine jmeter --plan p.py", ["FILE.jmx"]),
        # tune
        ("tune", ["no URL given"]),
        *(
            (f"tune {words} URL", [f"{words.split()[0]} does not work with tune"])
            for words in ("-n 1", "--rate 1", "-w", "--ab", "--steps 1", "--warmup 3", "-g x")
        ),
        ("tune --from 9 -c 8 URL", ["--from 9 is above -c 8"]),
        ("tune --finer -1 URL", ["--finer must be a whole number of 0 or more, got '-1'"]),
        ("tune --finer 51 URL", ["--finer 51 is out of range"]),
        ("tune -R one URL", ["-R does not work with tune: use --generator"]),
        ("tune --most-step-time 1 URL", ["--most-step-time 1 is below --step-time 5"]),
        ("tune -t 5 URL", ["-t 5 is too short"]),
        ("tune --step-time 0.5 URL", ["--most-step-time 2 is too short: use 3 or more"]),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    line: str, named: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options without a command are those of a load of one URL; ``URL`` and the files stand for some."""
    monkeypatch.chdir(tmp_path)
    Path("BODY").write_text("a=1")
    Path("BYTE").write_text("a")
    Path("LIST").write_text(f"{URL} 1 POST {tmp_path / 'BODY'}\n")
    words = [URL if word == "URL" else word for word in shlex.split(line)]
    assert main(["--no-record", "--headless", *words, URL] if line.startswith("-") else words) == 2
    said = capsys.readouterr()
    assert not said.out
    (message,) = said.err.splitlines()
    assert message.startswith("loadtop: ")
    assert all(name in message for name in named), message


@pytest.mark.parametrize("plan", ["none.jmx", "none.py"])
def test_a_plan_that_cannot_be_read(
    plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = "locust" if plan.endswith(".py") else "jmeter"
    assert main(["--engine", engine, "--plan", plan, "--no-record", "--headless", URL]) == 4
    assert f"cannot read the plan {plan}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "place",
    [
        "",
        "web1",
        "ssh://",
        "ssh://-oProxyCommand=x",
        "ssh://a b",
        "ssh://h:0",
        "ssh://h:65536",
        "ssh://h/x",
        "ssh://$(x)",
    ],
)
def test_not_a_place(place: str) -> None:
    with pytest.raises(UsageError, match="ssh://") as error:
        parse(["watch", "--host", f"web={place}"])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("engine", ["locust", "jmeter"])
def test_an_engine_refuses_unsupported_options(engine: str) -> None:
    assert {"-X", "-B", "-b", "-f", "-Z", "-E", "-I", "-v", "-g"} <= {
        option.name for option in options_of("run") if engine in option.refused
    }
    values = {"-E": str(ROOT / "README.md"), "-n": "5", "-b": "5", "-v": "2", "--workers": "2"}
    for option in options_of("run"):
        if engine in option.refused and option.name != "-R":
            words = [option.name, *([values.get(option.name, "x")] if option.metavar else [])]
            with pytest.raises(UsageError, match=rf"{option.name} does not work with --engine {engine}"):
                parse(["--engine", engine, *words, URL])


def test_settings_of_tls_go_with_the_plan_of_a_user(tmp_path: Path) -> None:
    """What such a plan requests, only its engine knows."""
    own = tmp_path / "own.py"
    own.write_text("import locust\n")
    assert parse(["--engine", "locust", "--plan", str(own), "--insecure", "-t", "1", URL]).plan is not None


@pytest.mark.parametrize(
    "line",
    [
        "-i -m HEAD -n 1",
        "--steps 1,4 --workers 2 --step-time 1",
        "--rate 5 --workers 3 -n 3",
        "-B 127.0.0.1 -X localhost:1 -n 1",
        "-m POST -H 'Content-Length: 0' -n 1",
        "-k -H 'Connection: closed, x-close' -n 1",
        "-I --insecure -f TLS1.2 -Z HIGH -n 1 https://127.0.0.1:1/",
    ],
)
def test_compatible_options_do_not_conflict(line: str) -> None:
    assert parse([*shlex.split(line), URL]).plan is not None
