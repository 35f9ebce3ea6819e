"""A command says that nothing is wrong only of what it looked at."""

import os
import shutil
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from workbench.errors import LogDirectoryError

SAMPLES = Path(__file__).parents[2] / "sample_data"
LOG = f"{0:020d}.log"
LOOKING = ("verify", "ls", "describe", "predict", "dump", "search", "explain", "plan", "what-if")
CHANGING = (("recover",), ("compact",), ("retention", "--now", "0"))


@pytest.fixture(name="place")
def place_(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("remember the milk")
    (tmp_path / "garbage.bin").write_bytes(os.urandom(5000))
    (tmp_path / "home" / "photos").mkdir(parents=True)
    (tmp_path / "home" / "notes.txt").touch()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "broken").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "links" / "pipe")
    return tmp_path


@pytest.mark.parametrize("name", LOOKING)
def test_what_is_not_kafka_s_is_refused(name: str, place: Path) -> None:
    expected = {
        "empty": "it is empty",
        "notes.txt": "found 'notes.txt'",
        "garbage.bin": "found 'garbage.bin'",
        "home": "found 'notes.txt', 'photos'",
        "links": "found 'broken', 'pipe'",
    }
    if name == "predict":
        del expected["empty"]  # a broker may start there, see below
    for path, found in expected.items():
        outcome = run(name, place / path)
        assert outcome.code == 3
        assert outcome.out == ""
        assert outcome.err == (
            f"kafka-workbench: {place / path}: nothing here looks like Kafka's: {found}\n"
        )


@pytest.mark.parametrize("name", ["predict", "preflight"])
def test_what_a_start_on_an_empty_directory_does_is_an_answer(name: str, place: Path) -> None:
    """Kafka 4.3.1 and 3.3.2 refuse such a directory, and 3.0.2 with ZooKeeper takes it as new."""
    for version, code, words in (
        ("4.3", 2, "the broker does not start: {}: no meta.properties"),
        ("3.0", 1, "{} has neither logs nor meta.properties: the broker takes it as new."),
        ("3.0", 1, "without ZooKeeper, a broker does not start before kafka-storage.sh format"),
        ("2.8", 1, "is made empty and begins at offset 0, unless another replica has its records"),
        ("0.8.2", 1, "the broker starts"),
    ):
        outcome = run(name, place / "empty", "--kafka", version)
        assert outcome.code == code
        assert words.format(place / "empty") in " ".join(outcome.out.split())
        assert "0.8.2: nothing that was looked at" not in outcome.out
    assert not list((place / "empty").iterdir())


@pytest.mark.parametrize("name", LOOKING)
def test_the_log_directories_of_a_folder_are_named(name: str, place: Path) -> None:
    both = SAMPLES / "two-brokers"
    outcome = run(name, both)
    assert outcome.code == 3
    assert f"{both}: no log directory, but these inside are: broker1, broker2" in outcome.err
    (place / "home" / "copy" / "orders-0").mkdir(parents=True)
    (place / "home" / "copy" / "orders-0" / "00000000000000000000.log").touch()
    above = run(name, place / "home").err
    assert f"{place}/home: no log directory, but these inside are: copy" in above


@pytest.mark.parametrize("command", CHANGING, ids=lambda command: command[0])
def test_what_is_not_kafka_s_is_not_copied(command: tuple[str, ...], place: Path) -> None:
    for path in ("empty", "home"):
        outcome = run(command[0], place / path, "--to", place / "copy", *command[1:])
        assert outcome.code == 3
        assert "nothing here looks like Kafka's" in outcome.err
        assert not (place / "copy").exists()


def test_one_path_of_several_is_refused_too(place: Path) -> None:
    outcome = run("verify", SAMPLES / "damaged", place / "empty", "--json")
    assert outcome.code == 3
    assert str(place / "empty") in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [("dump",), ("search", "--value", "x"), ("export", "--to", "records.jsonl"),
     ("export", "--to", "records.csv")],
)  # fmt: skip
def test_a_log_without_a_batch_is_no_log(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "data" / "orders-0" / LOG
    log.parent.mkdir(parents=True)
    log.write_bytes(b"GET / HTTP/1.1 200 OK\n" * 100)
    for path in (log, log.parent, log.parent.parent):
        outcome = run(arguments[0], path, *arguments[1:])
        assert outcome.code == 3
        assert outcome.out == ""
        assert f"{log}: not a log: there is no batch among 2,200 bytes" in outcome.err
    log.write_bytes(b"\0" * 5000)  # preallocated
    assert run(*arguments[:1], log, *arguments[1:]).code == (1 if arguments[0] == "search" else 0)


def test_a_formatted_directory_without_logs_is_checked(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "version=1\nnode.id=1\ncluster.id=c\ndirectory.id=b3pXo2q1Q3-uV5yq0cB1ZA\n"
    )
    assert run("ls", tmp_path).code == 0
    outcome = run("verify", tmp_path)
    assert outcome.code == 0
    assert outcome.out == (
        "A broker of Kafka 3.7 is assumed: meta.properties has a directory.id, as since 3.7.\n"
        "nothing wrong\nchecked 0 partitions, 0 segments, 0 bytes\n"
    )


def test_small_files_are_checked_by_themselves() -> None:
    for name in (
        "meta.properties",
        "recovery-point-offset-checkpoint",
        f"orders-0/{LOG[:20]}.index",
        "orders-0/partition.metadata",
        "orders-0/leader-epoch-checkpoint",
    ):
        path = SAMPLES / "shop-4.3.1" / name
        outcome = run("verify", path)
        assert outcome.code == 0, outcome
        assert outcome.out.startswith("A broker of Kafka 4.3 is assumed: ")
        assert outcome.out.endswith(f".\nnothing wrong\nchecked {path}\n")
        assert run("describe", path).code == 0


def test_the_library_refuses_it_too_but_opens_it(place: Path) -> None:
    for path in ("empty", "home", "notes.txt"):
        with pytest.raises(LogDirectoryError, match="nothing here looks like Kafka's"):
            wb.verify(place / path)
    logs = wb.open_log_directory(place / "empty")  # a new broker's is empty
    assert list(logs) == []
    assert logs.verify() == []


def test_verify_says_what_it_checked(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "damaged" / "healthy-0", tmp_path / "healthy-0")
    shutil.copytree(SAMPLES / "damaged" / "torn-tail-0", tmp_path / "torn-tail-0")
    everything = run("verify", tmp_path).out
    some = run("verify", tmp_path, "-p", "healthy-0").out
    partition = wb.open_log_directory(tmp_path)["healthy-0"]
    assert "\nchecked 2 partitions, " in everything
    assert some.endswith(
        f".\nnothing wrong\nchecked 1 partition, {len(partition.segments)} segments, "
        f"{partition.size:,} bytes\n"
    )
