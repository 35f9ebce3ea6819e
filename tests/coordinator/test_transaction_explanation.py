"""What a transaction blocks and what ends it: every state, and hanging ones."""

from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.cli.program import run
from tests.coordinator.writing import TIME, CoordinatorLog, commit, record, transaction
from tests.naive import Record, batch
from workbench.decoders import transaction_state
from workbench.errors import ConfigError
from workbench.loaders.explanations.explanation import Explanation
from workbench.loaders.schemas import schema_of
from workbench.tables.foresight import RuleRow

FOO: dict[str, Any] = {"transactionPartitions": [{"topic": "foo", "partitionIds": [0]}]}
ONGOING = {**FOO, "transactionStatus": 1, "transactionStartTimestampMs": TIME}
PREPARED = {**ONGOING, "transactionStatus": 2}
COMPLETE = {"transactionStatus": 4, "transactionStartTimestampMs": TIME, "producerId": 42}
WEEK = 604_800_000


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path, "__transaction_state")


def _write_open(root: Path, *producers: int, partition: int = 0) -> None:
    """Write a plain record, and two transactional ones of each producer."""
    folder = root / f"foo-{partition}"
    folder.mkdir()
    content, offset = batch([Record(0, TIME, None, b"plain")]), 1
    for producer in producers:
        for _ in range(2):
            content += batch(
                [Record(offset, TIME + offset, None, b"x")],
                attributes=0x10, producer_id=producer, producer_epoch=3,
            )  # fmt: skip
            offset += 1
    (folder / f"{0:020}.log").write_bytes(content)


def _explain(log: CoordinatorLog, name: str | int, **options: Any) -> Explanation:
    return workbench.open_log_directory(log.write()).explain_transaction(name, **options)


def _short(story: Explanation) -> list[tuple[str, str | None, str]]:
    return [(row.rule, row.where and str(row.where), row.verdict) for row in story]


def _row(story: Explanation, rule: str) -> Any:
    (found,) = (row for row in story if row.rule == rule)
    return found


def test_an_ongoing_transaction(log: CoordinatorLog) -> None:
    """The coordinator aborts it when its own timeout is over."""
    log.append(transaction("a", producerId=42, **ONGOING))
    _write_open(log.root, 42)
    story = _explain(log, "a")
    assert _short(story) == [
        ("partition", None, "allows"),
        ("state", None, "limits"),
        ("timeout", None, "limits"),
        ("marker", "foo-0", "limits"),
        ("last stable offset", "foo-0", "blocks"),
        ("hanging", "foo-0", "allows"),
        ("what ends it", None, "limits"),
    ]
    assert _row(story, "timeout").due == TIME + 60_000
    stable = _row(story, "last stable offset")
    assert (stable.value, stable.threshold) == (1, 3)
    assert "2 offsets below the log end offset 3" in stable.reason
    assert "forceTerminateTransaction --transactionalId a " in _row(story, "what ends it").reason
    assert story.conclusion.startswith("is open since 2023-11-14T22:13:20.000Z")
    table = story.to_arrow()
    assert table.schema == schema_of(RuleRow)
    assert table.num_rows == len(story)
    assert "is open since" in story._repr_html_()
    assert list(_explain(log, 42)) == list(story) == list(_explain(log, "42"))


def test_a_transaction_that_is_over_its_time(log: CoordinatorLog) -> None:
    log.append(transaction("a", producerId=42, **ONGOING))
    early, late = (_explain(log, "a", now=TIME + 60_000 + more) for more in (0, 1))
    assert "a broker that runs at" not in _row(early, "timeout").reason
    assert "a broker that runs at" in _row(late, "timeout").reason


def test_a_prepared_transaction(log: CoordinatorLog) -> None:
    """A load sends the markers again; what has its marker is open no more."""
    log.append(transaction("a", producerId=42, **PREPARED))
    _write_open(log.root, 7)
    story = _explain(log, "a")
    assert story.conclusion.startswith("is prepared (PrepareCommit): the coordinator writes")
    assert _row(story, "marker").verdict == "allows"
    assert "or its marker was" in _row(story, "marker").reason
    assert "COMMIT markers" in _row(story, "markers").reason


def test_a_completed_transaction_and_its_expiry(log: CoordinatorLog) -> None:
    log.append(transaction("a", **COMPLETE))
    story = _explain(log, "a")
    assert story.conclusion == "nothing is open: the state is CompleteCommit"
    assert _row(story, "expiry").due == TIME + WEEK
    assert _row(_explain(log, "a", now=TIME + WEEK), "expiry").due is None


def test_times_of_the_broker_s_configuration(log: CoordinatorLog) -> None:
    """A row says whether a value was configured."""
    log.append(transaction("a", **COMPLETE), transaction("b", producerId=43, **ONGOING))
    _write_open(log.root, 42)
    config = {"transactional.id.expiration.ms": 86_400_000, "transaction.max.timeout.ms": 1000}
    expiry = _row(_explain(log, "a"), "expiry")
    assert "Kafka's default transactional.id.expiration.ms = 604,800,000 (7 days)" in expiry.reason
    story = _explain(log, "a", now=TIME + 5000, config=config)
    expiry = _row(story, "expiry")
    assert expiry.due == TIME + 86_400_000
    assert "the configured transactional.id.expiration.ms = 86,400,000 (24 h)" in expiry.reason
    hanging = _row(story, "hanging")
    assert hanging.threshold == 1000
    assert "above the configured transaction.max.timeout.ms = 1,000" in hanging.reason
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    timeout = _row(_explain(log, "b", config={interval: 60_000}), "timeout")
    assert f"within the configured {interval} = 60,000" in timeout.reason
    with pytest.raises(ConfigError):
        _explain(log, "a", config={"transactional.id.expiration.ms": 0})
    told = run("transaction", "a", log.root, "--json", "--set", "transactional.id.expiration.ms=9")
    assert told.json["expires_at"] == TIME + 9


@pytest.mark.parametrize("fields", [COMPLETE, {**ONGOING, "producerId": 7}])
def test_a_hanging_transaction(log: CoordinatorLog, fields: dict[str, Any]) -> None:
    """No id waits for it: an administrator must abort it, by partition and first offset."""
    log.append(transaction("a", **fields))
    _write_open(log.root, 42)
    story = _explain(log, 42, now=TIME + 1_000_000)
    assert story.conclusion.startswith("hangs in foo-0: no transaction marker will end it")
    hanging = _row(story, "hanging")
    assert (hanging.verdict, hanging.value, hanging.threshold) == ("blocks", 999_998, 900_000)
    assert "above Kafka's default transaction.max.timeout.ms = 900,000" in hanging.reason
    cure = _row(story, "what ends it")
    assert cure.reason.endswith("abort --topic foo --partition 0 --start-offset 1")
    young = _row(_explain(log, 42, now=TIME + 10), "hanging")
    assert "at or below Kafka's default transaction.max.timeout.ms = 900,000" in young.reason


def test_an_older_transaction_holds_the_last_stable_offset(log: CoordinatorLog) -> None:
    log.append(transaction("a", producerId=42, **ONGOING), transaction("b", **ONGOING))
    _write_open(log.root, 1, 42)
    stable = _row(_explain(log, "a"), "last stable offset")
    assert (stable.verdict, stable.value, stable.threshold) == ("limits", 1, 3)
    assert "an older transaction of producer 1" in stable.reason


def test_what_is_not_there_is_unknown(log: CoordinatorLog) -> None:
    log.append(transaction("a", producerId=42, **ONGOING))
    assert _row(_explain(log, "a"), "marker").verdict == "unknown"
    nothing = _explain(log, "nosuch")
    assert (
        nothing.conclusion == "no record and no open transaction in these directories mentions it"
    )
    alone = log.root / "alone"
    alone.mkdir()
    _write_open(alone, 42)
    story = workbench.open_log_directory(alone).explain_transaction(42)
    assert "whether it hangs is unknown" in story.conclusion
    assert [row.verdict for row in story if row.rule in {"state", "hanging"}] == ["unknown"] * 2
    assert "find-hanging" in _row(story, "what ends it").reason


def test_commits_that_wait_for_the_transaction(log: CoordinatorLog) -> None:
    listed = [{"topic": "__consumer_offsets", "partitionIds": [0]}]
    log.append(transaction("a", producerId=42, **{**ONGOING, "transactionPartitions": listed}))
    groups = CoordinatorLog(log.root)
    groups.append(commit("g", "foo", 0, 1), commit("h", "foo", 0, 1), producer=42)
    groups.write()
    pending = _row(_explain(log, "a"), "pending commits")
    assert (pending.value, pending.reason) == (2, "2 offsets of g, h wait for the marker")


def test_an_id_in_a_wrong_partition_and_a_load_that_ends(tmp_path: Path) -> None:
    right = CoordinatorLog(tmp_path, "__transaction_state", 0)
    wrong = CoordinatorLog(tmp_path, "__transaction_state", 1)
    right.append(transaction("b"), transaction("d"), transaction("f"))
    wrong.append(transaction("a"), transaction("c"), transaction("h", producerId=9))
    wrong.append((None, b"x"))
    right.write()
    story = _explain(wrong, "h")
    rows = [(row.rule, row.verdict) for row in story]
    assert rows[:2] == [("partition", "blocks"), ("load", "limits")]


def test_a_removed_id(log: CoordinatorLog) -> None:
    log.append(transaction("a"), transaction("b"))
    log.append(record(0, {"transactionalId": "a"}, None, types=transaction_state.TYPES))
    assert "a tombstone removed it" in _row(_explain(log, "a"), "state").reason


def test_the_command(log: CoordinatorLog) -> None:
    log.append(transaction("a b", producerId=42, **ONGOING), transaction("c", producerId=5))
    _write_open(log.root, 42)
    log.write()
    outcome = run("transaction", "a b", log.root, "--json")
    assert outcome.code == 0
    found = outcome.json
    assert (found["state"], found["producer_id"]) == ("Ongoing", 42)
    assert [(row["topic"], row["first_offset"]) for row in found["open"]] == [("foo", 1)]
    assert {row["rule"] for row in found["rules"]} >= {"timeout", "hanging"}
    assert "'a b'" in found["rules"][-1]["reason"]
    assert "what ends it" in run("transaction", "42", log.root).out
    assert run("transaction", "c", log.root).code == 0
    missing = run("transaction", "nosuch", log.root, "--json")
    assert (missing.code, missing.json["state"], missing.json["open"]) == (1, None, [])
    _write_open(log.root, 66, partition=1)
    assert run("transaction", "66", log.root, "--now", "2030-01-01T00:00:00Z").code == 1
