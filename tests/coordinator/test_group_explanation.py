"""Why a group resumes where it stopped, or starts over: the rule that says so, and where."""

import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.cli.program import run
from tests.coordinator.writing import TIME, CoordinatorLog, commit, group, group_tombstone, member
from tests.golden.cases import Case, open_case
from tests.naive import Record, batch
from workbench.loaders.explanations.explanation import Explanation
from workbench.loaders.schemas import schema_of
from workbench.tables.foresight import RuleRow

DAY = 86_400_000
SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    folder = tmp_path / "foo-0"
    folder.mkdir()
    records = [Record(10 + at, TIME, None, b"v") for at in range(5)]
    (folder / f"{10:020}.log").write_bytes(batch(records))
    return CoordinatorLog(tmp_path)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return open_case("4.2.0-groups", tmp_path_factory.mktemp("groups"))


def _explain(log: CoordinatorLog, **options: Any) -> Explanation:
    return workbench.open_log_directory(log.write()).explain_group("g", **options)


def _blocking(story: Explanation) -> list[tuple[str, str]]:
    return [(row.rule, row.reason) for row in story if row.verdict == "blocks"]


def test_a_group_that_resumes() -> None:
    story = workbench.open_log_directory(SHOP).explain_group("order-dashboard")
    assert story.conclusion.startswith(
        "resumes in all 2 partitions; a broker started after 2026-11-28T14:54:04Z removes expired "
    )
    assert {row.verdict for row in story} == {"allows"}
    assert [row.rule for row in story.of("orders-0")] == ["offset", "expiry", "log"]
    assert [row.rule for row in story if row.where is None] == ["partition", "load", "group"]
    table = story.to_arrow()
    assert table.schema == schema_of(RuleRow)
    assert "resumes in all 2 partitions" in story._repr_html_()


def test_a_group_that_no_record_tells_of() -> None:
    story = workbench.open_log_directory(SHOP).explain_group("nosuch")
    assert "so its start is unknown" in story.conclusion
    assert [row.verdict for row in story if row.rule == "group"] == ["unknown"]


def test_real_tombstones(case: Case) -> None:
    """Expiry after a minute, a deleted group, deleted offsets, a deleted topic."""
    logs = workbench.open_log_directory(case.directory("before"))
    expired = logs.explain_group("g-expires", retention_ms=60_000)
    assert expired.conclusion.startswith("starts over everywhere: removed by a tombstone")
    assert all("it had expired" in row.reason for row in expired.of("g-one-0"))
    guess = logs.explain_group("g-expires").of("g-one-0")[0].reason
    assert "or offsets.retention.minutes was below 10,080" in guess
    deleted = logs.explain_group("g-deleted")
    assert [row.value for row in deleted if row.rule == "group"] == ["Dead"]
    part = logs.explain_group("g-part-deleted")
    assert part.conclusion.startswith("starts over in 2 of 3 partitions")
    gone = logs.explain_group("g-topic-gone").of("g-gone-0")
    assert [row.reason.endswith("deleted with its topic, which is gone") for row in gone] == [True]


def test_an_open_transaction(case: Case) -> None:
    story = workbench.open_log_directory(case.directory("before")).explain_group("g-txn")
    rows = story.of("g-two-0")
    assert [(row.rule, row.verdict) for row in rows] == [
        ("transaction", "limits"),
        ("offset", "allows"),
        ("expiry", "allows"),
        ("log", "allows"),
    ]


@pytest.mark.parametrize(("offset", "what"), [(9, "below the start"), (16, "beyond the end")])
def test_an_offset_that_the_log_does_not_hold(log: CoordinatorLog, offset: int, what: str) -> None:
    log.append(commit("g", "foo", 0, offset))
    ((rule, reason),) = _blocking(_explain(log))
    assert rule == "log"
    assert reason.startswith(what)


def test_a_recreated_topic(log: CoordinatorLog) -> None:
    metadata = log.root / "foo-0" / "partition.metadata"
    metadata.write_text("version: 0\ntopic_id: q2itc_CbSySKWltU1niWnw\n")
    log.append(commit("g", "foo", 0, 11, 4, topicId="ieoyKSJYTY2cEnlgEekSDw"))
    ((rule, reason),) = _blocking(_explain(log))
    assert (rule, reason[:9]) == ("topic", "recreated")


def test_a_transaction_that_aborted(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 11), producer=7)
    log.marker(7, commit=False)
    story = _explain(log, version="2.8")
    assert _blocking(story)[-1] == (
        "offset",
        "no commit but those of transactions that aborted",
    )
    assert "marker at 1" in story.of("foo-0")[0].reason
    log.append(commit("g", "foo", 0, 12))
    assert [row.rule for row in _explain(log).of("foo-0")] == ["offset", "expiry", "log"]


def test_an_offset_that_expires(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 11))
    (row,) = (row for row in _explain(log, version="2.8") if row.rule == "expiry")
    assert (row.verdict, row.due) == ("allows", TIME + 7 * DAY)
    story = _explain(log, version="2.8", now=TIME + 7 * DAY)
    assert [rule for rule, _ in _blocking(story)] == ["offset", "expiry"]


def test_a_tombstone_within_the_time_of_a_subscribed_topic_was_no_expiry(
    log: CoordinatorLog,
) -> None:
    log.append(group("g", protocol="range", members=[member("m", "foo")]))
    log.append(commit("g", "foo", 0, 11))
    log.append(commit("g", "foo", 0, None))
    ((_, reason),) = _blocking(_explain(log))
    assert "deleted by a client or with its topic: it expires never" in reason


def test_an_assigned_partition_without_a_commit_starts_over(log: CoordinatorLog) -> None:
    """A member has foo-0 to foo-2 and committed in one of them."""
    has = struct.pack(">hih3s4i", 0, 1, 3, b"foo", 3, 0, 1, 2) + struct.pack(">i", -1)
    log.append(group("g", protocol="range", members=[member("m", "foo", assignment=has)]))
    log.append(commit("g", "foo", 0, 11))
    story = _explain(log)
    assert story.conclusion == (
        "starts over in 2 of 3 partitions: foo-1: assigned to a member, and nothing is committed: "
        "auto.offset.reset decides"
    )
    assert {str(row.where) for row in story if row.verdict == "blocks"} == {"foo-1", "foo-2"}
    assert story.is_limited
    folder = log.root / "foo-1"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch([Record(0, TIME, None, b"v")]))
    found = run("offsets", log.root, "--json").json
    assert [(row["partition"], row["offset"], row["log_end_offset"]) for row in found] == [
        (0, 11, 15), (1, None, 1), (2, None, None),
    ]  # fmt: skip
    assert {row["reason"] for row in found[1:]} == {
        "assigned to a member, and nothing is committed: auto.offset.reset decides"
    }
    outcome = run("stuck", log.root, "--json")
    lags = [(row["partition"], row["verdict"]) for row in outcome.json["groups"]]
    assert lags == [(0, "unknown"), (1, "starts over"), (2, "unknown")]
    stuck = {row["partition"]: row for row in outcome.json["stuck"]}
    assert stuck[1]["what"] == "not consumed"
    assert (stuck[1]["offset"], stuck[1]["bytes"]) == (
        None,
        (folder / f"{0:020}.log").stat().st_size,
    )


def test_a_commit_that_went_back(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 14), commit("g", "foo", 0, 11), commit("g", "foo", 0, 12))
    (row,) = (row for row in _explain(log) if row.rule == "order")
    assert (row.verdict, row.value, row.threshold) == ("limits", 12, 14)
    assert "a commit at record 1 went back below 14, committed at record 0" in row.reason


def test_a_load_that_fails(log: CoordinatorLog) -> None:
    log.append(commit("g", "foo", 0, 11), (None, b"x"))
    story = _explain(log)
    assert story.conclusion.startswith("starts over everywhere: a broker's load of")
    assert [rule for rule, _ in _blocking(story)] == ["load", "offset"]


def test_a_removed_group_whose_offsets_live(log: CoordinatorLog) -> None:
    """The new coordinator does not serve them."""
    log.append(commit("g", "foo", 0, 11), group("g"), group_tombstone("g"))
    story = _explain(log, version="4.2")
    assert [rule for rule, _ in _blocking(story)] == ["group", "offset"]
    assert _blocking(_explain(log, version="2.8")) == []


def test_how_far_a_group_of_kip_848_is(case: Case) -> None:
    """CG-2: a member waits for what another must give up."""
    logs = workbench.open_log_directory(case.directory("before"))
    story = logs.explain_group("g-new")
    rows = [row for row in story if row.rule in {"epoch", "reconciliation"}]
    assert [(row.rule, row.verdict, row.value, row.threshold) for row in rows] == [
        ("epoch", "allows", 2, 2),
        ("reconciliation", "allows", 2, 2),
        ("reconciliation", "allows", 2, 2),
    ]
    assert all("it has its target assignment" in row.reason for row in rows[1:])


def test_of_many_generations_of_members_little_is_kept(log: CoordinatorLog) -> None:
    """The members of each take 0.5 MB; what is read of the log at a time takes 27 MB."""
    members = [member(f"{number}", "foo", assignment=bytes(300)) for number in range(300)]
    for generation in range(120):
        log.append(group("g", generation=generation, protocol="range", members=members))
    log.append(commit("g", "foo", 0, 12))
    log.append(commit("g", "foo", 0, None))
    logs = workbench.open_log_directory(log.write())
    tracemalloc.start()
    try:
        story = logs.explain_group("g")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "it expires never: a member subscribes to the topic" in _blocking(story)[0][1]
    assert peak < 45 << 20


_KEY = bytes.fromhex("0001670003666f6f00000000")  # group g, topic foo, partition 0, as MM2 writes
_VALUE = struct.Struct(">hqqh")


def test_a_mirrored_group_goes_on_where_the_newest_checkpoint_says(log: CoordinatorLog) -> None:
    """MirrorMaker 2 writes into the target; a group without members has its offset committed."""
    checkpoints = CoordinatorLog(log.root, "east.checkpoints.internal")
    checkpoints.append((_KEY, _VALUE.pack(0, 90, 11, 0)), (_KEY, _VALUE.pack(0, 105, 13, 0)))
    checkpoints.write()
    log.append(commit("other", "foo", 0, 11))
    story = _explain(log)
    assert story.conclusion == (
        "nothing is committed here; foo-0: MirrorMaker 2: offset 105 of cluster east is offset 13 "
        "here, and nothing is committed here: consumers that translate their offsets go on there, "
        "others start over, unless sync.group.offsets.enabled commits it first"
    )
    outcome = run("group", "g", log.root, "--json")
    assert outcome.code == 1
    (row,) = outcome.json["mirror_checkpoints"]
    assert (row["source"], row["upstream_offset"], row["offset"], row["lag"]) == (
        "east",
        105,
        13,
        2,
    )
    assert "mirrored partition" in run("group", "g", log.root).out
    log.append(commit("g", "foo", 0, 12))
    (told,) = (row for row in _explain(log) if row.rule == "mirror checkpoint")
    assert (told.verdict, told.value) == ("allows", 13)
    assert told.reason.endswith("; the group has committed 12 here, where it goes on")
