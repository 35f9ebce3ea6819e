"""Small slips are said at once, at the door where they are made, with what was meant."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.program import run
from tests.naive import Record, batch
from workbench.config.settings import Settings
from workbench.errors import LogDirectoryError, SchemaError, StorageError
from workbench.foresight.copies.compacting import compact_directory
from workbench.foresight.copies.repair import recover_directory
from workbench.foresight.copies.retaining import retain
from workbench.log.log import Log
from workbench.spark_source.options import parse_options

LOG = "00000000000000000000.log"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "logs" / "orders-0"
    folder.mkdir(parents=True)
    (folder / LOG).write_bytes(b"".join(batch([Record(at, 1, b"k", b"v")]) for at in range(5)))
    return folder.parent


@pytest.mark.parametrize(
    ("offsets", "wanted"), [("-2:", [3, 4]), (":-1", [0, 1, 2, 3]), ("-5:-1", [0, 1, 2, 3])]
)
@pytest.mark.parametrize("command", ["dump", "search"])
def test_negative_offsets_count_from_the_log_end(
    command: str, offsets: str, wanted: list[int], root: Path
) -> None:
    outcome = run(command, root, f"--offsets={offsets}", "--format", "jsonl")
    if command == "search":
        outcome = run(command, root, "v", f"--offsets={offsets}", "--json")
    assert [line["offset"] for line in outcome.lines] == wanted


@pytest.mark.parametrize("command", ["dump", "search"])
def test_a_negative_offset_alone_is_refused(command: str, root: Path) -> None:
    outcome = run(command, root, "--offsets=-2")
    assert (outcome.code, outcome.out) == (3, "")
    assert "expected -2: for the last ones" in outcome.err


def test_a_position_inside_of_a_batch_gets_the_positions_near_it(root: Path) -> None:
    size = len(batch([Record(0, 1, b"k", b"v")]))
    file = root / "orders-0" / LOG
    said = run("describe", file, "--batch", "7")
    assert said.code == 0
    assert f"byte 7 is inside of the batch at 0; batches begin at 0, {size}, {2 * size}" in said.err
    assert run("describe", file, "--batch", str(size)).err == ""
    last = run("describe", file, "--batch", str(5 * size - 1)).err
    assert f"batch at {4 * size}; batches begin at {3 * size}, {4 * size}\n" in last


def test_a_file_that_is_not_kafkas_is_not_opened(tmp_path: Path, root: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n")
    with pytest.raises(LogDirectoryError, match="nothing here looks like Kafka's: found 'README"):
        wb.open_log_directory(tmp_path / "README.md")
    assert len(wb.open_log_directory(root / "orders-0" / LOG)) == 1
    assert len(wb.open_log_directory(tmp_path / "logs")) == 1
    (tmp_path / "empty").mkdir()
    assert len(wb.open_log_directory(tmp_path / "empty")) == 0  # a new broker's directory


def test_a_log_manager_that_was_not_started_says_so(tmp_path: Path) -> None:
    manager = wb.LogManager([tmp_path])
    calls: list[Any] = [
        lambda: manager.get_or_create_log("orders", 0),
        lambda: manager.get_log("orders-0"),
        lambda: manager.logs,
    ]
    for call in calls:
        with pytest.raises(StorageError, match=r"logs are not loaded: call startup\(\)"):
            call()
    assert list(tmp_path.iterdir()) == []
    with manager:
        assert manager.get_or_create_log("orders", 0) is manager.get_log("orders-0")


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([("k", "v")], r"the key of a record is 'k'.*with bytes or None: b'k'"),
        ([(b"k", 7)], "the value of a record is 7"),
        ((b"k", b"v"), r"a record is b'k', expected \(key, value\).*put several in a list"),
        ([(b"k", b"v", b"h", 1)], r"a record is \(b'k', b'v', b'h', 1\)"),
        ([("12", b"k", b"v")], "the timestamp of a record is '12'"),
        ([b"k"], "a record is b'k'"),
    ],
)
def test_a_wrong_record_is_refused_with_what_is_wanted(
    records: Any, words: str, tmp_path: Path
) -> None:
    with wb.LogManager([tmp_path]) as manager:
        log = manager.get_or_create_log("orders", 0)
        with pytest.raises(TypeError, match=words):
            log.append(records)
        assert log.log_end_offset == 0
        log.append([(b"k", None), (5, None, b"v")])
        assert log.log_end_offset == 2


def test_an_unknown_decoding_is_refused_before_anything_is_read(root: Path) -> None:
    logs = wb.open_log_directory(root)
    with pytest.raises(SchemaError, match=r"unknown decoding 'jason'.*did you mean json\?"):
        logs.scan(decode={"value": "jason"})


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("kafka.isolaton.level", "kafka.isolation.level"),
        ("kafka.isolation.levle", "kafka.isolation.level"),
        ("kafka.bootstrap.server", "kafka.bootstrap.servers"),
        ("kafka.ssl.truststore.locaton", "kafka.ssl.truststore.location"),
        ("kafka.sasl.jaas.confg", "kafka.sasl.jaas.config"),
        ("startingOfsets", "startingoffsets"),
        ("subscribePatern", "subscribepattern"),
    ],
)
def test_a_misspelled_option_of_spark_is_refused(option: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean {meant}") as caught:
        parse_options({"path": "x", option: "1"})
    assert "unknown option" in str(caught.value)


def test_names_of_plugins_are_no_slips() -> None:
    given = {"path": "x", "kafka.schema.registry.url": "http://x", "kafka.my.plugin": "1"}
    given |= {"kafka.ssl.keystore.type": "PEM", "kafka.max.poll.records": "5"}
    assert parse_options(given) == parse_options({"path": "x"})


FAR = ["s3://bucket/broker-1", Path("s3://bucket/broker-1"), "gs://bucket", "file:///logs"]


@pytest.mark.parametrize("path", FAR)
def test_the_engine_refuses_at_once_what_it_cannot_write_to(
    path: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    doors: list[Any] = [
        lambda: wb.LogManager([path]),
        lambda: wb.LogManager([tmp_path / "near", path]),
        lambda: Log.open(f"{path}/orders-0"),
        lambda: recover_directory(str(path)),
        lambda: retain(str(path), 0),
        lambda: compact_directory(str(path), [0], Settings.of({})),
    ]
    for door in doors:
        with pytest.raises(LogDirectoryError, match=r"(s3|gs|file):/.*: cannot be written to"):
            door()
    assert list(tmp_path.iterdir()) == []


def test_the_engine_refuses_an_archive(root: Path, tmp_path: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "logs"), "gztar", root))
    inside = f"{archive}/orders-0"
    opened = wb.open_log_directory(archive)  # from now on, paths lead into it
    assert len(opened) == 1
    with pytest.raises(LogDirectoryError, match="cannot be written to"):
        wb.LogManager([archive])
    with pytest.raises(LogDirectoryError, match="cannot be written to"):
        Log.open(inside)
    with pytest.raises(LogDirectoryError, match="nothing is written there"):
        wb.serve(opened, writable=True)
    for command in ("recover", "compact", "retention"):
        said = run(command, archive, "--in-place", "--now=1800000000000")
        assert said.code == 3, said.err
        assert "nothing is written there; give --to OUT" in said.err
