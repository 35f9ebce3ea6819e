"""The archives themselves: complete, unchanged, and what comes out of them is what went in."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.archive import extract, pack
from tests.golden.cases import ARCHIVES, CASES, Case, names

CHECKSUMS = ARCHIVES / "SHA256SUMS"
Golden = Callable[[str], Case]


def test_every_archive_has_the_checksum_it_was_packed_with() -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in ARCHIVES.glob("*.tar.xz")
    }
    lines = [line.split("  ") for line in CHECKSUMS.read_text().splitlines()]
    stored = {name: checksum for checksum, name in lines}
    assert found == stored


def test_every_version_has_its_cases() -> None:
    assert Counter(case.version for case in CASES) == {
        "0.8.2.2": 4,
        "0.9.0.1": 7,
        "0.10.0.1": 5,
        "0.10.2.2": 8,
        "0.11.0.3": 5,
        "1.0.2": 5,
        "1.1.1": 9,
        "2.3.1": 9,
        "2.4.1": 7,
        "2.8.2": 28,
        "3.0.2": 7,
        "3.3.2": 7,
        "3.6.2": 7,
        "3.9.1": 32,
        "4.2.0": 35,
        "4.4.0": 7,
    }


def test_the_archives_stay_small() -> None:
    sizes = [path.stat().st_size for path in ARCHIVES.iterdir()]
    assert max(sizes) <= 2_000_000
    assert sum(sizes) <= 15_000_000


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_case_holds_its_directories_and_what_it_says_of_them(name: str, golden: Golden) -> None:
    case = golden(name)
    assert case.info["case"] == name
    assert case.labels
    assert any(case.dump_versions(label) for label in case.labels)
    for label in case.labels:
        for version in case.dump_versions(label):
            dump = case.dump(label, version)
            assert dump.files
            missing = [f for f in dump.files if not (case.directory(label) / f).exists()]
            assert missing == []
    for label in case.consumed_labels:
        assert label in case.labels or f"{label}/" in "".join(f"{x}/" for x in case.labels)


def test_file_times_are_those_the_broker_left(golden: Golden) -> None:
    folder = golden("k0.9-retention").directory("before") / "r-time-0"
    times = [folder / "00000000000000000000.log", folder / "00000000000000000014.log"]
    assert [path.stat().st_mtime_ns // 1_000_000 for path in times] == [
        1795252630107,  # set back by the case, to let retention by time find something
        1795254430108,
    ]


def test_preallocated_indexes_are_holes_on_disk(golden: Golden) -> None:
    case = golden("4.2.0-crash-produce-1")
    large = [p for p in case.path.rglob("*.index") if p.stat().st_size > 10_000_000]
    assert large
    if os.name == "posix":
        assert sum(path.stat().st_blocks * 512 for path in large) < 1_000_000


def test_pack_and_extract_keep_contents_times_and_empty_folders(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "data" / "empty-0").mkdir(parents=True)
    contents = {
        "data/orders-0/00000000000000000000.log": bytes(range(256)) * 700,
        "data/orders-0/00000000000000000000.index": bytes(10) + bytes(100_000) + b"\x01",
        "data/orders-0/00000000000000000000.timeindex": b"",
        "dump/data-4.2.0.txt": "text, mit Umlauten: äöü\r\n".encode(),
    }
    for number, (name, content) in enumerate(contents.items()):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(content)
        time_ns = 1_700_000_000_123_456_789 + number
        os.utime(source / name, ns=(time_ns, time_ns))
    pack(source, tmp_path / "case.tar.xz")
    extract(tmp_path / "case.tar.xz", tmp_path / "copy")
    copied = {
        path.relative_to(tmp_path / "copy").as_posix(): path
        for path in (tmp_path / "copy").rglob("*")
        if path.is_file()
    }
    assert {name: path.read_bytes() for name, path in copied.items()} == contents
    assert {name: path.stat().st_mtime_ns for name, path in copied.items()} == {
        name: (source / name).stat().st_mtime_ns for name in contents
    }
    assert (tmp_path / "copy" / "data" / "empty-0").is_dir()
    pack(tmp_path / "copy", tmp_path / "again.tar.xz")
    assert (tmp_path / "again.tar.xz").read_bytes() == (tmp_path / "case.tar.xz").read_bytes()


def test_a_dump_is_cut_into_files(golden: Golden) -> None:
    old = golden("k1.1-formats").dump("data", "1.1.1")
    new = golden("4.2.0-txn").dump("data")
    log = "t-none-0/00000000000000000000.log"
    assert [section.lines[0] for section in old.of(log)] == ["Starting offset: 0"]
    state = "__transaction_state-0/00000000000000000000.log"
    assert [section.options for section in new.of(state)] == [
        "--deep-iteration --print-data-log",
        "--transaction-log-decoder",
    ]
    assert new.of(state)[0].lines[1] == "Log starting offset: 0"


def test_readings_are_found_by_isolation_and_label(golden: Golden) -> None:
    for name in names("transactions", version="1.1.1") + names("txn$", version="4.2.0"):
        case = golden(name)
        assert case.consumed_labels == ("data",)
        assert len(case.consumed("read_committed")) < len(case.consumed("read_uncommitted"))
    chain = golden("upgrade-chain")
    assert chain.consumed_labels == tuple(sorted(chain.labels))
    assert len(chain.consumed(label="s9-3.9.1")) > len(chain.consumed(label="s1-0.8.2.2")) > 0
