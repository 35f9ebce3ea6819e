"""What a search did not look at: "is this customer still on the disk?" gets a true answer.

Each place holds one record with the customer's name, and its number of records is known: 1.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.cli.program import run
from tests.naive import Record, batch
from workbench.loaders.search.search import Search
from workbench.log_directory import LogDirectory

LOG = "00000000000000000000.log"
CUSTOMER = b"c4242"


def named(offset: int, *, header: bool = False) -> Record:
    if header:
        return Record(offset, 1, b"k", b"other", ((b"customer", CUSTOMER),))
    return Record(offset, 1, b"k", b'{"customer": "' + CUSTOMER + b'"}')


def other(offset: int) -> Record:
    return Record(offset, 1, b"k", b"nothing of hers")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A broker's directory: the log in use does not name the customer any more."""
    folder = tmp_path / "logs" / "orders-0"
    folder.mkdir(parents=True)
    (folder / LOG).write_bytes(batch([other(10)]))
    return folder.parent


def everywhere(logs: LogDirectory) -> list[str]:
    """Return the files that hold the customer's name."""
    scan = logs.scan(where="c4242", everything=True, columns=["file"])
    return [Path(each).name for each in scan.to_arrow()["file"].to_pylist()]


def test_a_name_in_a_header_is_found_by_every_door(root: Path) -> None:
    (root / "orders-0" / LOG).write_bytes(batch([named(10, header=True), other(11)]))
    logs = workbench.open_log_directory(root)
    assert logs.scan(where="c4242").count() == 1
    for arguments in (["c4242"], ["--where", "c4242"], ["c4242", "-F"], ["-H", "customer=c42"]):
        assert run("search", root, *arguments, "--count").out == "1\n"
    search = Search(logs.scan(where="c4242"))
    search.run()
    assert search.matches.count == 1
    assert logs.scan(where="c4242").not_searched == []


def test_a_segment_that_is_about_to_be_deleted_is_named(root: Path) -> None:
    for suffix in (".deleted", ".cleaned", ".swap"):
        (root / "orders-0" / f"{LOG}{suffix}").write_bytes(batch([named(0), other(1)]))
    logs = workbench.open_log_directory(root)
    scan = logs.scan(where="c4242")
    assert scan.count() == 0
    assert [(each.kind, Path(each.path).name) for each in scan.not_searched] == [
        ("leftover", f"{LOG}{suffix}") for suffix in (".cleaned", ".deleted", ".swap")
    ]
    assert everywhere(logs) == [f"{LOG}.cleaned", f"{LOG}.deleted", f"{LOG}.swap"]
    assert logs.scan(where="c4242", everything=True).not_searched == []
    found = run("search", root, "c4242")
    assert found.code == 1
    assert "not searched: 3 files that are out of use" in found.err
    assert "--everything includes them" in found.err
    lines = run("search", root, "c4242", "--everything", "--json").lines
    assert [Path(each["file"]).name for each in lines] == everywhere(logs)


def test_folders_that_are_not_in_use_are_named_also_by_their_topic(root: Path) -> None:
    unique = "0123456789abcdef0123456789abcdef"
    for kind in ("delete", "stray", "future"):
        folder = root / f"customers-0.{unique}-{kind}"
        folder.mkdir()
        (folder / LOG).write_bytes(batch([named(0)]))
    logs = workbench.open_log_directory(root)
    scan = logs.scan(where="c4242")
    assert scan.count() == 0
    assert [each.kind for each in scan.not_searched] == ["folder"] * 3
    assert sum(each.size or 0 for each in scan.not_searched) == 3 * len(batch([named(0)]))
    assert everywhere(logs) == [LOG] * 3
    assert logs.scan(topics="orders").not_searched == []  # the question is about another topic
    with pytest.raises(LookupError, match="topic customers is not in use; its folder is custom"):
        logs.scan(topics="customers")
    assert logs.scan(topics="customers", everything=True).count() == 3
    assert run("search", root, "c4242", "--everything", "--count").out == "3\n"
    counted = run("search", root, "c4242", "--count", "--json").json
    assert counted["count"] == 0
    assert [each["kind"] for each in counted["not_searched"]] == ["folder"] * 3


def test_records_below_the_log_start_offset_are_named(root: Path) -> None:
    (root / "orders-0" / LOG).write_bytes(batch([named(3)]) + batch([other(10)]))
    (root / "log-start-offset-checkpoint").write_text("0\n1\norders 0 10\n")
    logs = workbench.open_log_directory(root)
    scan = logs.scan(where="c4242")
    assert scan.count() == 0
    (left,) = scan.not_searched
    assert (left.kind, left.what) == (
        "below-start",
        "the offsets 0 to 9 are below the log start offset 10",
    )
    assert logs.scan(where="c4242", everything=True).count() == 1
    assert run("search", root, "c4242", "--everything", "--count").out == "1\n"


def test_what_is_in_a_remote_tier_is_named(root: Path) -> None:
    (root / "orders-0" / LOG).rename(root / "orders-0" / "00000000000000000010.log")
    (root / "log-start-offset-checkpoint").write_text("0\n1\norders 0 4\n")
    (left,) = workbench.open_log_directory(root).scan(everything=True).not_searched
    assert (left.kind, left.what[:33]) == ("remote", "the offsets 4 to 9 are in no loca")


def test_damage_and_unknown_files_are_named(root: Path) -> None:
    damaged = bytearray(batch([named(11)]))
    damaged[-3] ^= 1  # a byte of the value: the CRC is wrong
    (root / "orders-0" / LOG).write_bytes(batch([other(10)]) + damaged + batch([other(12)]))
    (root / "orders-0" / "old.log.bak").write_bytes(batch([named(0)]))
    logs = workbench.open_log_directory(root)
    scan = logs.scan(where="c4242")
    assert [each.kind for each in scan.not_searched] == ["unknown"]
    with pytest.warns(UserWarning, match="^1 damaged place left out; the first: "):
        assert scan.count() == 0
    assert [each.kind for each in scan.not_searched] == ["unknown", "damaged"]
    whole = logs.scan(where="c4242", everything=True)
    with pytest.warns(UserWarning, match="rescued 1 of the 1 records"):
        assert whole.count() == 1
    assert [each.kind for each in whole.not_searched] == ["unknown"]
    search = Search(logs.scan(where="c4242"))
    search.run()
    assert [each.kind for each in search.not_searched] == ["unknown", "damaged"]


def test_values_that_a_path_cannot_look_into_are_counted(root: Path) -> None:
    values = [b'{"customer": "c4242"', b'{"customer": "c4242"}', b"\x00customer", b'x"customer":7']
    records = [Record(10 + at, 1, None, value) for at, value in enumerate(values)]
    (root / "orders-0" / LOG).write_bytes(batch(records))
    logs = workbench.open_log_directory(root)
    for workers in (1, 2):
        scan = logs.scan(where="$.customer = c4242", workers=workers)
        assert scan.count() == 1
        (left,) = scan.not_searched
        assert left.kind == "not-json"
        assert left.what.startswith("1 key or value with")  # the last would be of another value
    assert logs.scan(where="$.customer").not_searched == []
    exists = logs.scan(where="$.customer")
    assert exists.count() == 1
    assert exists.not_searched[0].what.startswith("2 keys and values")
    text = run("search", root, "--where", "$.customer", "--count")
    assert text.out == "1\n"
    assert "2 keys and values with the names of the paths" in text.err


def test_values_that_cannot_be_decoded_are_named_and_found(root: Path) -> None:
    values = [b'{"n": 1}', b'{"n": ', None, b"\xff", b'{"n": 2}']
    records = [Record(10 + at, 1, b"k", value) for at, value in enumerate(values)]
    (root / "orders-0" / LOG).write_bytes(batch(records))
    logs = workbench.open_log_directory(root)
    assert logs.scan(where="invalid").to_arrow()["offset"].to_pylist() == [11, 13]
    decoded = logs.scan(decode={"value": "json"})
    with pytest.warns(UserWarning, match="^2 keys and values null or incomplete; the first: "):
        decoded.to_arrow()
    assert {each.kind for each in decoded.not_searched} == {"undecodable"}
    as_text = logs.scan(where="invalid", decode={"value": "utf8"}, columns=["offset", "value"])
    with pytest.warns(UserWarning, match="null"):
        assert as_text.to_arrow()["offset"].to_pylist() == [13]
    found = run("search", root, "invalid", "--value-format", "utf8", "--json")
    assert [each["offset"] for each in found.lines] == [13]


def test_exports_and_dumps_name_what_they_leave_out(root: Path, tmp_path: Path) -> None:
    (root / "orders-0" / f"{LOG}.deleted").write_bytes(batch([named(0), other(1)]))
    assert "not searched: 1 file that is out of use" in run("dump", root, "--json").err
    assert len(run("dump", root, "--json", "--everything").lines) == 3
    for form, count in (("jsonl", 1), ("csv", 1), ("parquet", 1)):
        target = tmp_path / f"some.{form}"
        outcome = run("export", root, target, "--json")
        assert outcome.json["records"] == count
        assert [each["kind"] for each in outcome.json["not_searched"]] == ["leftover"]
        outcome = run("export", root, tmp_path / f"all.{form}", "--json", "--everything")
        assert outcome.json["records"] == 3
        assert outcome.json["not_searched"] == []


def test_metadata_snapshots_are_searched_with_everything(root: Path) -> None:
    name = "00000000000000000100-0000000001.checkpoint"
    (root / "orders-0" / name).write_bytes(batch([named(0)]))
    logs = workbench.open_log_directory(root)
    assert [each.kind for each in logs.scan().not_searched] == ["snapshot"]
    assert everywhere(logs) == [name]


def test_lines_of_json_show_values_in_the_formats_that_are_asked_for(
    root: Path, tmp_path: Path
) -> None:
    values = [b'{"n": [1, null]}', "é".encode(), None, b"\xff"]
    records = [Record(10 + at, 1, b"k", value) for at, value in enumerate(values)]
    (root / "orders-0" / LOG).write_bytes(batch(records))
    wanted: dict[str, list[Any]] = {
        "json": [{"n": [1, None]}, None, None, None],
        "utf8": ['{"n": [1, null]}', "é", None, None],
        "hex": [b'{"n": [1, null]}'.hex(), "c3a9", None, "ff"],
        "base64": ["eyJuIjogWzEsIG51bGxdfQ==", "w6k=", None, "/w=="],
    }
    for form, shown in wanted.items():
        options = ("--value-format", form, "--key-format", "utf8")
        target = tmp_path / f"{form}.jsonl"
        assert run("export", root, target, *options).code == 0
        written = [json.loads(line) for line in target.read_text().splitlines()]
        assert run("dump", root, "--json", *options).lines == written
        assert run("search", root, "offset>0", "--json", *options).lines == written
        assert [each["key"] for each in written] == ["k"] * 4
        for line, value, raw in zip(written, shown, values, strict=True):
            if value is None and raw is not None:
                assert line["value"]["bytes"] == raw.hex()
                assert line["value"]["error"]
            else:
                assert line["value"] == value
