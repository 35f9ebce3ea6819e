"""`dump -f` and `dump --newest`: kcat's format string, and the last records first."""

import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run

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
