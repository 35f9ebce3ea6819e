"""What damage has taken: planted damage, the offsets it takes, and where consumers go on."""

import shutil
import warnings
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from workbench.errors import CorruptDataWarning

DAMAGED = Path(__file__).parents[2] / "sample_data" / "damaged"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("healthy-0", []),
        ("flipped-byte-0", [(24, 26, 3, 27, True)]),  # a batch whose header is whole
        ("huge-length-0", [(27, 29, None, 32, True)]),  # 32: the next entry of the index
        ("cut-middle-0", [(30, 35, None, 36, False)]),  # readers pass to the next segment
        ("torn-tail-0", []),
    ],
)
def test_each_damaged_range_has_its_offsets_and_where_to_go_on(
    name: str, expected: list[tuple[int, int, int | None, int, bool]]
) -> None:
    logs = wb.open_log_directory(DAMAGED)
    rows = logs.inspect.damaged_ranges(partitions=name).to_pylist()
    names = ("first_offset", "last_offset", "records", "next_offset", "stops")
    assert [tuple(row[each] for each in names) for row in rows] == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        readable = logs.scan(partitions=name, columns=["offset"]).to_arrow()["offset"].to_pylist()
    lost = {at for row in rows for at in range(row["first_offset"], row["last_offset"] + 1)}
    assert lost.isdisjoint(readable)
    if name != "torn-tail-0":
        assert len(lost) + len(readable) == 72


def test_verify_says_what_is_lost_and_how_much_is_readable() -> None:
    shown = run("verify", DAMAGED, "-p", "flipped-byte-0")
    assert shown.code == 2
    assert (
        "Lost: offsets 24 to 26, 3 records. A consumer fails there until it seeks to 27. "
        "--rescue still reads 3 records."
    ) in shown.out
    assert "69 of 72 records of this log are readable" in shown.out
    text = run("verify", DAMAGED, "-p", "huge-length-0").out
    assert "69 of at most 72 records of this log are readable" in text
    assert "readable" not in run("verify", DAMAGED, "-p", "healthy-0").out


def test_verify_gives_programs_the_same() -> None:
    (finding,) = run("verify", DAMAGED, "-p", "flipped-byte-0", "--json").json
    assert finding["lost"] == {
        "first_offset": 24,
        "last_offset": 26,
        "offsets": 3,
        "records": 3,
        "next_offset": 27,
        "stops": True,
        "rescuable": 3,
    }
    findings = run("verify", DAMAGED, "-p", "torn-tail-0", "--json").json
    assert {each["kind"] for each in findings} >= {"torn-tail"}
    assert [each["lost"] for each in findings] == [None] * len(findings)


def test_a_last_batch_that_is_damaged_is_lost_up_to_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "healthy-0"
    shutil.copytree(DAMAGED / "healthy-0", folder)
    last = max(folder.glob("*.log"))
    content = bytearray(last.read_bytes())
    content[-5] ^= 1
    last.write_bytes(content)
    partition = wb.open_log_directory(folder)["healthy-0"]
    (row,) = wb.open_log_directory(folder).inspect.damaged_ranges().to_pylist()
    assert (row["last_offset"], row["next_offset"]) == (71, 72)
    answer = partition.fate(row["first_offset"]).read_committed
    assert (answer.outcome, answer.next_offset) == ("fails", 72)
