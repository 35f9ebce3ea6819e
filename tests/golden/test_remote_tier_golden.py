"""Local and remote segments read as one log: what consumers read through the broker's remote tier.

The cases' brokers copied segments to a `LocalTieredStorage`, or with Aiven's plugin; they deleted
local ones by `local.retention.bytes`, remote ones by `retention.bytes`, and records by
DeleteRecords.
"""

import json
import pickle
import shutil
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import workbench as wb
from tests.cli.program import run
from tests.golden.cases import Case
from workbench.errors import ConfigError, CorruptDataWarning

Golden = Callable[[str], Case]
Isolation = Any

CASES = ["3.9.1-tiered", "4.2.0-tiered"]
LEVELS = ["read_uncommitted", "read_committed"]


def told(rows: list[dict[str, Any]]) -> dict[str, list[tuple[Any, ...]]]:
    """Return what the consumer read, by topic."""
    found = defaultdict(list)
    for row in rows:
        found[row["topic"]].append((row["offset"], row["timestamp"], row["key"], row["value"]))
    return found


def scanned(logs: wb.LogDirectory, topic: str, isolation: Isolation) -> list[tuple[Any, ...]]:
    table = logs.scan(topics=topic, isolation_level=isolation).to_arrow()
    stamps = table["timestamp"].cast("int64").to_pylist()
    texts = [
        [None if each is None else each.hex() for each in table[name].to_pylist()]
        for name in ("key", "value")
    ]
    return list(zip(table["offset"].to_pylist(), stamps, *texts, strict=True))


def without_metadata(case: Case, into: Path) -> wb.LogDirectory:
    """Open a case as if its `__remote_log_metadata` were on other brokers."""
    folder = into / case.name
    folder.mkdir()
    for each in case.directory("data").iterdir():
        if not each.name.startswith("__remote_log_metadata"):
            (folder / each.name).symlink_to(each)
    return wb.open_log_directory(
        [each for each in folder.iterdir() if each.is_dir() and each.name.startswith("tier-")],
        remote=case.path / "tier",
    )


@pytest.mark.parametrize("isolation", LEVELS)
@pytest.mark.parametrize("name", CASES)
def test_remote_and_local_segments_read_as_the_log_that_a_consumer_read(
    name: str, isolation: Isolation, golden: Golden
) -> None:
    case = golden(name)
    logs = wb.open_log_directory(case.directory("data"), remote=case.path / "tier")
    expected = told(case.consumed(isolation))
    assert {topic: scanned(logs, topic, isolation) for topic in expected} == expected
    beginnings = case.info["headline"]["listOffsets"][isolation]
    for partition, (start, end) in beginnings.items():
        assert (logs[partition].log_start_offset, logs[partition].log_end_offset) == (start, end)
    again = logs.listed_again()
    assert {each: again[each].log_start_offset for each in beginnings} == {
        each: start for each, (start, _) in beginnings.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_without_the_metadata_topic_the_files_alone_give_the_same_records(
    name: str, golden: Golden, tmp_path: Path
) -> None:
    case = golden(name)
    logs = without_metadata(case, tmp_path)
    expected = told(case.consumed("read_uncommitted"))
    for topic, rows in expected.items():
        first = rows[0][0]  # a partition that is opened alone has no checkpoint of its start
        found = scanned(logs, topic, "read_uncommitted")
        assert [row for row in found if row[0] >= first] == rows
    assert {p.remote.contents.source for p in logs.values() if p.remote} == {"files"}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_wrong_with_a_tier_that_a_broker_left(name: str, golden: Golden) -> None:
    case = golden(name)
    logs = wb.open_log_directory(case.directory("data"), remote=case.path / "tier")
    assert logs.verify() == []


def open_aiven(folder: Path, data: str = "data") -> wb.LogDirectory:
    keys = {"key1": folder / "private.pem"}
    return wb.open_log_directory(folder / data, remote=folder / "tier", remote_keys=keys)


def consumed(folder: Path, isolation: Isolation) -> list[tuple[Any, ...]]:
    rows = map(json.loads, (folder / "consumed.jsonl").read_text().splitlines())
    return told([row for row in rows if row["isolation"] == isolation])["paid"]


@pytest.mark.parametrize("isolation", LEVELS)
@pytest.mark.parametrize("data", ["data", "data/paid-0"], ids=["metadata", "manifests"])
def test_chunks_of_aivens_plugin_plain_compressed_and_encrypted_read_as_the_log(
    aiven: Path, data: str, isolation: Isolation
) -> None:
    logs = open_aiven(aiven, data)
    assert scanned(logs, "paid", isolation) == consumed(aiven, isolation)
    remote = logs["paid-0"].remote
    assert remote is not None
    assert remote.contents.source == ("topic" if data == "data" else "files")
    (epochs,) = {each.metadata.leader_epochs for each in remote.segments[:1] if each.metadata}
    assert epochs == ((0, 0),)
    assert logs.verify() == []


def test_a_tier_with_keys_can_be_sent_to_another_process_without_them(aiven: Path) -> None:
    logs = open_aiven(aiven)
    count = logs.scan(topics="paid").count()
    sent = pickle.dumps(logs)
    assert b"PRIVATE" not in sent
    assert pickle.loads(sent).scan(topics="paid").count() == count  # noqa: S301


def test_without_its_key_an_encrypted_segment_is_a_finding_and_the_rest_is_read(
    aiven: Path,
) -> None:
    logs = wb.open_log_directory(aiven / "data", remote=aiven / "tier")
    scan = logs.scan(topics="paid")
    with pytest.warns(CorruptDataWarning, match="RSA key 'key1', which was not given"):
        offsets = scan.to_arrow()["offset"].to_pylist()
    everything = [row[0] for row in consumed(aiven, "read_uncommitted")]
    assert offsets == [each for each in everything if each < 134 or each >= 252]
    assert {finding.kind for finding in scan.findings} == {"remote-unreadable"}


def test_an_opening_reads_with_its_own_keys_whatever_was_opened_before_and_after(
    aiven: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    other.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    def opened(key: Path | None) -> wb.Scan:
        keys = None if key is None else {"key1": key}
        logs = wb.open_log_directory(aiven / "data", remote=aiven / "tier", remote_keys=keys)
        return logs.scan(topics="paid")

    whole = len(consumed(aiven, "read_uncommitted"))
    readable = whole - sum(134 <= row[0] < 252 for row in consumed(aiven, "read_uncommitted"))
    right, wrong, none = opened(aiven / "private.pem"), opened(other), opened(None)
    for scan, count in ((right, whole), (none, readable), (wrong, readable), (right, whole)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorruptDataWarning)
            assert scan.to_arrow().num_rows == count
    sent = [pickle.loads(pickle.dumps(scan)) for scan in (right, none)]  # noqa: S301
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        assert [scan.to_arrow().num_rows for scan in sent] == [whole, readable]


def test_a_file_that_is_no_key_is_refused_when_the_tier_is_opened(aiven: Path) -> None:
    keys = {"key1": aiven / "case.json"}
    with pytest.raises(ConfigError, match=r"case\.json: not a private key in PEM"):
        wb.open_log_directory(aiven / "data", remote=aiven / "tier", remote_keys=keys)


Edit = Callable[[Path], object]


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def copy_as_another(path: Path) -> None:
    for each in path.parent.glob(f"{path.name[:43]}*"):
        shutil.copy(each, each.with_name(f"{each.name[:21]}{'A' * 22}{each.name[43:]}"))


@pytest.mark.parametrize(
    ("edit", "segment", "suffix", "kinds"),
    [
        (Path.unlink, 48, ".log", {"remote-missing"}),
        (Path.unlink, 48, ".timeindex", {"remote-missing", "time-index-missing"}),
        (Path.unlink, 140, ".log", {"remote-missing"}),
        (
            shorten,
            0,
            ".log",
            {"remote-size", "torn-tail", "remote-offsets", "time-index-beyond-end"},
        ),
        (flip, 0, ".log", {"crc"}),
        (copy_as_another, 48, ".log", {"remote-orphan"}),
    ],
)
def test_verify_tells_damage_of_a_tier(
    edit: Edit, segment: int, suffix: str, kinds: set[str], golden: Golden, tmp_path: Path
) -> None:
    case = golden("4.2.0-tiered")
    tier = tmp_path / "tier"
    shutil.copytree(case.path / "tier", tier)
    (path,) = tier.glob(f"tier-local-0-*/{segment:020}-*{suffix}")
    edit(path)
    logs = wb.open_log_directory(case.directory("data"), remote=tier)
    found = logs.verify(topics="tier-local")
    assert found
    assert {finding.kind for finding in found} <= kinds
    assert {finding.kind for finding in found} & kinds


def test_offsets_that_no_segment_has_are_a_gap_and_a_scan_says_so(
    golden: Golden, tmp_path: Path
) -> None:
    case = golden("4.2.0-tiered")
    tier = tmp_path / "tier"
    shutil.copytree(case.path / "tier", tier)
    for path in tier.glob("tier-local-0-*/00000000000000000048-*"):
        path.unlink()
    opened = [case.directory("data") / "tier-local-0"]  # without metadata: nothing names them
    (finding,) = wb.open_log_directory(opened, remote=tier).verify()
    assert (finding.kind, finding.offset) == ("remote-gap", 48)
    scan = wb.open_log_directory(opened, remote=tier).scan()
    with pytest.warns(CorruptDataWarning, match="no remote segment for the offsets 48 to 95"):
        offsets = scan.to_arrow()["offset"].to_pylist()
    assert offsets == [*range(48), *range(96, 200)]


def test_a_table_tells_state_epochs_and_use_of_each_remote_segment(golden: Golden) -> None:
    case = golden("4.2.0-tiered")
    logs = wb.open_log_directory(case.directory("data"), remote=case.path / "tier")
    rows = logs.inspect.remote_segments(topics="tier-expire").to_pylist()
    names = ("start_offset", "end_offset", "state", "size", "files", "is_read")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, 47, "DELETE_SEGMENT_FINISHED", 2451, 0, False),
        (48, 99, "COPY_SEGMENT_FINISHED", 2461, 5, True),
        (100, 147, "COPY_SEGMENT_FINISHED", 2399, 5, False),
        (148, 195, "COPY_SEGMENT_FINISHED", 2322, 5, False),
    ]
    assert {row["source"] for row in rows} == {"topic"}
    assert rows[1]["leader_epochs"] == [{"epoch": 0, "start_offset": 48}]
    assert wb.open_log_directory(case.directory("data")).inspect.remote_segments().num_rows == 0


def test_search_export_and_describe_read_the_tier(golden: Golden, tmp_path: Path) -> None:
    case = golden("4.2.0-tiered")
    options = (case.directory("data"), "--remote", case.path / "tier")
    counted = run("search", *options, "-t", "tier-local", "--key", ".", "--count")
    assert counted.out.strip() == "200"
    target = tmp_path / "out.jsonl"
    run("export", *options, target, "-t", "tier-txn", "--isolation-level", "read_committed")
    assert len(target.read_text().splitlines()) == 120
    described = run("describe", *options, "-p", "tier-local-0", "--json").json
    assert [each["start_offset"] for each in described["remote_segments"]] == [0, 48, 96, 140]
    assert run("verify", *options, "-p", "tier-local-0").code == 0


def test_without_the_tier_an_offset_below_it_names_both_starts(golden: Golden) -> None:
    """Of a tiered log, earliest is in the tier; the local segments begin at 100."""
    case = golden("4.2.0-tiered")
    data, tier = case.directory("data"), case.path / "tier"
    alone = run("offset", data, "tier-expire-0", "10").out
    assert "continues at 48 (without a remote tier, at 100) with" in alone
    assert "Go on at 48 (without a remote tier, at 100); --remote URL" in alone
    assert (
        "continues at 48 with" in run("offset", data, "tier-expire-0", "10", "--remote", tier).out
    )


def test_a_tier_at_a_url_is_read_like_a_folder(golden: Golden, aiven: Path) -> None:
    case = golden("4.2.0-tiered")
    logs = wb.open_log_directory(case.directory("data"), remote=(case.path / "tier").as_uri())
    assert logs.scan(topics="tier-local").count() == 200
    keys = {"key1": aiven / "private.pem"}
    logs = wb.open_log_directory(aiven / "data", remote=(aiven / "tier").as_uri(), remote_keys=keys)
    assert scanned(logs, "paid", "read_uncommitted") == consumed(aiven, "read_uncommitted")
