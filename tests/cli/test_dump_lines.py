"""`dump -f` and `dump --newest`: kcat's format string, and the last records first."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import workbench as wb
from tests.cli.program import run
from tests.cli.terminal import on_a_terminal
from workbench.cli.colors import painted

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def _raw(*arguments: str) -> bytes:
    command = [sys.executable, "-m", "workbench.cli.main", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def test_a_format_string_has_kcats_letters_and_the_stored_bytes(tmp_path: Path) -> None:
    with wb.LogManager([tmp_path / "logs"]) as manager:
        log = manager.get_or_create_log("odd", 0)
        log.append([(b"k\x00\xff", b"\x1b[31m"), (None, None), (b"", b"%s")])
    path = str(tmp_path / "logs")
    found = _raw("dump", path, "-f", r"%t %p %o %K:%k|%S:%s%%\x01\n")
    assert found == (
        b"odd 0 0 3:k\x00\xff|5:\x1b[31m%\x01\nodd 0 1 -1:|-1:%\x01\nodd 0 2 0:|2:%s%\x01\n"
    )


def test_a_format_string_gives_times_and_headers() -> None:
    scan = wb.open_log_directory(SHOP).scan("orders", partitions=0, limit=3)
    expected = b""
    for row in scan:
        headers = b",".join(h["key"].encode() + b"=" + h["value"] for h in row["headers"])
        stamp = round(row["timestamp"].timestamp() * 1000)
        expected += b"%d %s\n" % (stamp, headers)
    assert _raw("dump", str(SHOP), "-p", "orders-0", "-n", "3", "-f", r"%T %h\n") == expected


def test_what_is_no_letter_is_refused() -> None:
    for wrong, said in (("%q", "unknown %q"), ("100%", "unknown %"), (r"\q", r"unknown \q")):
        outcome = run("dump", SHOP, "-p", "orders-0", "-f", wrong)
        assert outcome.code == 3
        assert said in outcome.err


@pytest.mark.parametrize("count", [1, 7, 100_000])
def test_the_newest_records_come_first(count: int) -> None:
    """Of a compacted log, too, where the last offsets are fewer records."""
    for name in ("customers-0", "orders-1"):
        scan = wb.open_log_directory(SHOP).scan(partitions=name, columns=["offset"])
        every = scan.to_arrow()["offset"].to_pylist()
        lines = run("dump", SHOP, "-p", name, "--newest", str(count)).lines
        assert [each["offset"] for each in lines] == every[::-1][:count]


def test_a_limit_lowers_the_number_of_the_newest() -> None:
    """So ``tail DIR -n 2``, a word for the newest ten, prints two of each partition."""
    two = run("dump", SHOP, "-t", "orders", "--newest", "2").out
    assert run("dump", SHOP, "-t", "orders", "--newest", "10", "-n", "2").out == two
    assert run("tail", SHOP, "-t", "orders", "-n", "2").out == two
    assert run("dump", SHOP, "-t", "orders", "--newest", "2", "-n", "10").out == two


def test_the_newest_of_each_partition_are_chosen_like_others() -> None:
    lines = run(
        "dump", SHOP, "-t", "payments", "--newest", "2", "--isolation-level", "read_committed"
    ).lines
    logs = wb.open_log_directory(SHOP)
    expected = []
    for name in ("payments-0", "payments-1"):
        scan = logs.scan(partitions=name, isolation_level="read_committed", columns=["offset"])
        expected += scan.to_arrow()["offset"].to_pylist()[-2:][::-1]
    assert [each["offset"] for each in lines] == expected


def test_names_in_json_have_a_color_on_a_terminal_alone() -> None:
    arguments = ("dump", str(SHOP), "-t", "orders", "-n", "1", "--no-batches")
    assert '\x1b[34m"order_id"\x1b[0m:' in on_a_terminal(*arguments)
    plain = run(*arguments, "--format", "text").out
    assert "\x1b" not in plain
    assert '"order_id":' in plain


ORDERS = ("-t", "orders", "-n", "1")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(
    "arguments",
    [
        ("dump", str(SHOP), *ORDERS, "--no-batches"),
        ("dump", str(SHOP), *ORDERS, "--json"),
        ("search", str(SHOP), *ORDERS, "O-48212"),
        ("search", str(SHOP), *ORDERS, "O-48212", "--json"),
        ("offset", "orders-0", "0", str(SHOP)),
        ("offset", "orders-0", "0", str(SHOP), "--json"),
        ("describe", str(SHOP), "-p", "orders-0", "--segment", "0", "--batch", "0"),
        ("sql", str(SHOP), "select 'O-48212' order_id, key from orders limit 1", "--json"),
    ],
    ids=lambda words: " ".join(word for word in words if word != str(SHOP)),
)
def test_json_has_colors_on_a_terminal_alone(arguments: tuple[str, ...]) -> None:
    """Names and strings; the same text without the colors is what NO_COLOR and a pipe give."""
    shown = on_a_terminal(*arguments)
    assert '\x1b[34m"order_id"\x1b[0m:' in shown
    assert '\x1b[32m"O-48212"\x1b[0m' in shown
    plain = on_a_terminal(*arguments, NO_COLOR="1")
    assert "\x1b" not in plain
    assert plain == ESCAPE.sub("", shown)
    assert "\x1b" not in run(*arguments).out


def test_a_terminal_without_colors_gets_none() -> None:
    arguments = ("dump", str(SHOP), *ORDERS, "--json")
    assert "\x1b" not in on_a_terminal(*arguments, TERM="dumb")


def test_numbers_and_words_have_colors_too() -> None:
    text = '{"a": -1.5e3, "b\\"": [true, null], "c": "x 1 null"}'
    assert ESCAPE.sub("", painted(text)) == text
    assert "\x1b[36m-1.5e3\x1b[0m" in painted(text)
    assert "\x1b[35mtrue\x1b[0m, \x1b[35mnull\x1b[0m" in painted(text)
    assert '\x1b[34m"b\\""\x1b[0m:' in painted(text)
    assert '\x1b[32m"x 1 null"\x1b[0m' in painted(text)


@pytest.mark.parametrize("width", [40, 61, 79, 100, 120])
def test_a_line_is_cut_at_the_width_and_never_in_a_color(width: int) -> None:
    shown = on_a_terminal("dump", str(SHOP), "-t", "orders", "-n", "20", COLUMNS=str(width))
    lines = shown.replace("\r\n", "\n").splitlines()[1:]  # the first is the file's path
    assert "…" in shown
    for line in lines:
        assert cell_len(ESCAPE.sub("", line)) <= width
        assert "\x1b" not in ESCAPE.sub("", line)
        assert line.count("\x1b[0m") * 2 == line.count("\x1b")


@given(st.text(alphabet='{}[]":,\\ a1-.enulltrfs…é\n', max_size=60))
def test_colors_change_no_character(text: str) -> None:
    assert ESCAPE.sub("", painted(text)) == text
