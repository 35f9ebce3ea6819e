"""Nothing of a key, a value or a header is in what is passed on, whatever is wrong with it."""

import base64
import gzip
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition

import workbench as wb
from tests.cli.program import run
from tests.cli.test_serve import end, start
from tests.naive import Record, batch
from widgets import LogExplorer, RecordBrowser
from workbench.values import hiding

PRIVATE = "Zs3cr3tZ"
VALUES = [
    f'{{"n": 1, "name": "{PRIVATE}"}}'.encode(),
    f'{{"n": "{PRIVATE}"}}'.encode(),
    f'{{"{PRIVATE}": '.encode(),
    PRIVATE.encode(),
    b"\0\0\0\0\x05" + PRIVATE.encode(),
    f"\xff{PRIVATE}".encode("latin-1"),
    None,
]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A directory with secrets, also in a damaged batch and in internal topics."""
    headers = ((PRIVATE.encode(), PRIVATE.encode()),)
    for topic in ("orders", "__consumer_offsets", "_schemas"):
        folder = tmp_path / "logs" / f"{topic}-0"
        folder.mkdir(parents=True)
        stored = b"".join(
            batch([Record(at, 5, f"{PRIVATE}-{at}".encode(), value, headers)])
            for at, value in enumerate(VALUES)
        )
        broken = bytearray(batch([Record(len(VALUES), 5, b"k", PRIVATE.encode(), headers)]))
        broken[-1] ^= 1
        (folder / f"{0:020}.log").write_bytes(stored + broken)
    return tmp_path / "logs"


def test_reports_and_findings_hold_nothing_of_a_value(logs: Path, tmp_path: Path) -> None:
    assert PRIVATE in run("dump", logs).out  # where they are shown
    page = tmp_path / "report.html"
    assert run("report", logs, page).code in {0, 1, 2}
    told = [page.read_text(encoding="utf-8")]
    for command in ("verify", "ls", "describe", "predict", "preflight", "explain", "stuck"):
        for form in ((), ("--json",)):
            outcome = run(command, logs, *form)
            told += [outcome.out, outcome.err]
    opened = wb.open_log_directory(logs)
    told += [repr(opened), repr(opened["orders"]), repr(opened["orders-0"]), repr(opened.scan())]
    told.append(opened.scan()._repr_html_())
    told += [json.dumps([each.as_dict() for each in opened.verify()], default=str)]
    for text in told:
        assert PRIVATE not in text
        assert PRIVATE.encode().hex() not in text


def unpacked(page: str) -> str:
    """Return a page of `to_html` with what is compressed in it."""
    packed = re.findall(r'<script id="widget" type="text/plain">([^<]*)<', page)
    return page + "".join(gzip.decompress(base64.b64decode(each)).decode() for each in packed)


@pytest.mark.filterwarnings("ignore:1 damaged place left out")
@pytest.mark.parametrize("show", [LogExplorer, RecordBrowser])
def test_what_is_saved_of_a_widget_holds_nothing_of_a_value(show: Any, logs: Path) -> None:
    widget = show(wb.open_log_directory(logs), selected={"partition": "orders-0"})
    widget.wait(30)
    place = {"partition": "orders-0", "segment": "0"} if show is LogExplorer else {"run": 1}
    answer = getattr(widget, "answer_records" if show is LogExplorer else "answer_rows")
    assert PRIVATE in str(answer(**place, start=0, stop=9))  # it is shown to who looks
    told = [unpacked(widget.to_html()), str(widget.get_state()), widget.describe()]
    for text in told:
        assert PRIVATE not in text
        assert PRIVATE.encode().hex() not in text
    assert PRIVATE in str(answer(**place, start=0, stop=9))
    asked = show(logs, selected={"partition": "orders-0"}, show_values=True)
    assert PRIVATE in unpacked(asked.to_html())


@pytest.mark.parametrize("form", ["json", "utf8", "avro", "registry", "consumer_offsets"])
@pytest.mark.parametrize("command", ["export", "sql", "search"])
def test_errors_hold_nothing_of_a_value(
    command: str, form: str, logs: Path, tmp_path: Path
) -> None:
    given = {
        "export": ("export", logs, tmp_path / "out.csv", "-t", "orders"),
        "sql": ("sql", logs, "select count(value) from orders"),
        "search": ("search", logs, "-t", "orders", "offset>=0", "--count"),
    }
    outcome = run(*given[command], "--value-format", form)
    assert PRIVATE not in outcome.err, outcome.err
    assert PRIVATE.encode().hex() not in outcome.err


def test_the_log_of_the_server_holds_nothing_of_a_value(logs: Path) -> None:
    process = start("--json", str(logs))
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    consumer = KafkaConsumer(bootstrap_servers=first["bootstrap"], consumer_timeout_ms=2_000)
    consumer.assign([TopicPartition("orders", 0)])
    consumer.seek_to_beginning()
    assert PRIVATE.encode() in next(consumer).value
    consumer.close()
    out, error = end(process, signal.SIGTERM)
    assert '"Fetch"' in out
    assert PRIVATE not in out + error


def test_the_settings_of_a_machine_hide_values(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings.conf"
    monkeypatch.setattr(hiding, "SETTINGS", str(settings))
    command = ("dump", logs, "-t", "orders", "-n", "1")

    def shows() -> bool:
        return '"value":{"size"' not in run(*command).out

    assert shows()
    settings.write_text("# of all users\nvalues = hidden  # not on this machine\n")
    assert not shows()
    assert PRIVATE in run(*command, "--show-values").out
    monkeypatch.setenv(hiding.VALUES, "shown")
    assert shows()
    monkeypatch.delenv(hiding.VALUES)
    settings.write_text("values=hiden\n")
    done = run(*command)
    assert done.code == 3
    assert f"values in {settings} is 'hiden' (expected shown or hidden)" in done.err
