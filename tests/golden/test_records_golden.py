"""Every record of every golden case: what producers were acknowledged, and what consumers read.

Neither was computed here. Where a broker or its client is known to differ, the exception is named.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.golden.cases import CASES, Case, Isolation
from tests.golden.reading import (
    LogBounds,
    Reading,
    Row,
    TopicPartition,
    directories,
    log_bounds,
    open_segment,
    read,
    read_log,
)
from tests.golden.served import Consumed, JavaConsumers, Wanted
from tests.trees import changes

Golden = Callable[[str], Case]

ISOLATIONS: tuple[Isolation, ...] = ("read_uncommitted", "read_committed")
LATER_EPOCH = frozenset(
    {("3.9.1-plain-java", "java-single"), ("4.2.0-plain-timestamps", "refused")}
)
"""A producer id's epoch was raised after the sends; the client reports the later one."""


def by_partition(rows: list[Row]) -> dict[TopicPartition, list[Row]]:
    found: dict[TopicPartition, list[Row]] = defaultdict(list)
    for row in rows:
        if "offset" in row:  # else the producer got an error
            found[row["topic"], row["partition"]].append(row)
    return found


def is_value(told: Row, name: str, found: bytes | None) -> bool:
    if name in told:
        return bool(told[name] == (None if found is None else found.hex()))
    assert found is not None
    digest = hashlib.sha256(found).hexdigest()
    return (told[f"{name}_len"], told[f"{name}_sha256"]) == (len(found), digest)


def differences(told: Row, found: Row) -> Iterator[Any]:
    """Yield what differs between a line of truth or consumed and our record of the same offset."""
    for name in ("key", "value"):
        if not is_value(told, name, found[name]):
            yield name, told.get(name), found[name]
    headers = [
        (header["key"], None if header["value"] is None else header["value"].hex())
        for header in found["headers"]
    ]
    if [tuple(header) for header in told.get("headers", [])] != headers:
        yield "headers", told.get("headers"), headers
    ours = {
        "timestamp": found["timestamp"],
        "timestampType": found["timestamp_type"] or "NoTimestampType",
        "leaderEpoch": found["partition_leader_epoch"],
        "producerId": found["producer_id"],
        "producerEpoch": found["producer_epoch"],
    }
    for name, value in ours.items():
        if name in told and told[name] != (-1 if value is None else value):
            yield name, told[name], value


def wrong_reading(
    told: list[Row], found: list[Row], *, without: frozenset[str] = frozenset()
) -> list[Any]:
    """Return every difference between what was consumed of a partition and what we read."""
    wrong: list[Any] = []
    told_offsets = [row["offset"] for row in told]
    found_offsets = [row["offset"] for row in found]
    if told_offsets != found_offsets:
        wrong.append(("offsets", sorted(set(told_offsets) ^ set(found_offsets))[:5]))
    records = {row["offset"]: row for row in found}
    for row in told:
        if row["offset"] in records:
            differ = [d for d in differences(row, records[row["offset"]]) if d[0] not in without]
            wrong += [(row["offset"], *what) for what in differ]
    return wrong


class Opened:
    """One case with its truth, and its directories read once for all tests of the case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._readings: dict[tuple[tuple[Path, ...], Isolation], Reading] = {}

    @cached_property
    def truth(self) -> dict[TopicPartition, dict[int, Row]]:
        """What producers were acknowledged, by partition and offset."""
        rows = by_partition(self.case.truth())
        return {where: {row["offset"]: row for row in found} for where, found in rows.items()}

    def read(self, paths: Iterable[Path], isolation: Isolation = "read_uncommitted") -> Reading:
        """Scan log directories together."""
        key = (tuple(paths), isolation)
        if key not in self._readings:
            self._readings[key] = read(key[0], isolation)
        return self._readings[key]

    def is_damaged(self, topic: str) -> bool:
        """Return whether a topic's files were damaged on purpose."""
        return self.case.kind.startswith("damage") and topic.startswith(("dmg-", "d-"))


@pytest.fixture(scope="module", params=[case.name for case in CASES])
def opened(request: pytest.FixtureRequest, golden: Golden) -> Opened:
    """Give each case in turn to every test that asks for it, one case after the other."""
    return Opened(golden(request.param))


def is_explained(
    opened: Opened, reading: Reading, where: TopicPartition, told: list[Row], isolation: Isolation
) -> bool:
    """Return whether a damaged partition reads as it should, though a consumer read otherwise.

    A consumer stops at the damage, or goes where a wrong index leads; we read on after it. What a
    consumer has and we do not is where we found something wrong. All that we give is true.
    """
    found = reading.records.get(where, [])
    truth = opened.truth[where]
    false = [row for row in found if any(differences(truth[row["offset"]], row))]
    offsets = [row["offset"] for row in found]
    missing = {row["offset"] for row in told} - set(offsets)
    # Without its .txnindex a broker gives aborted records to read_committed.
    fates = {truth.get(offset, {}).get("txn") for offset in missing}
    aborted = isolation == "read_committed" and "commit" not in fates
    return (
        not false
        and offsets == sorted(set(offsets))
        and (not missing or bool(reading.findings_in(where)) or aborted)
    )


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_scan_gives_what_consumers_read(opened: Opened, isolation: Isolation) -> None:
    case = opened.case
    # 0.10.0.1's consumer says that a v0 message in a v1 wrapper has no timestamp type; later ones
    # and every DumpLogSegments name the wrapper's (README-old of the cases, 5).
    without = frozenset({"timestampType"} if case.kind == "mixed-wrapper" else ())
    wrong = []
    for label in case.consumed_labels:
        told = by_partition(case.consumed(isolation, label))
        topics = {topic for topic, _ in told}
        groups = [[path] for path in directories(case, label)]
        if case.kind == "dirs":  # of one broker
            groups = [directories(case, label)]
        seen = set()
        for paths in groups if told else []:
            reading = opened.read(paths, isolation)
            seen |= set(reading.records)
            found = {where for where in reading.records if where[0] in topics}
            missing = set() if case.kind == "replicas" else set(told) - found
            for where in sorted(found | missing):
                ours = reading.records.get(where, [])
                rows = told.get(where, [])
                if case.kind == "tiered":  # the local part; the next test reads the remote one
                    rows = [row for row in rows if row["offset"] >= ours[0]["offset"]]
                differ = wrong_reading(rows, ours, without=without)
                if differ and opened.is_damaged(where[0]):
                    differ = [] if is_explained(opened, reading, where, rows, isolation) else differ
                wrong += [(label, where, what) for what in differ[:3]]
        assert set(told) <= seen
    assert wrong == []


def as_served(row: Row) -> Row:
    """Return a record of a scan as a client of a server gets it.

    A batch of magic 2 has a type of timestamp even if its records have none, as those of magic 0.
    """
    names = ("offset", "key", "value", "headers")
    epoch = row["partition_leader_epoch"]
    return {
        **{name: row[name] for name in names},
        "timestamp": -1 if row["timestamp"] is None else row["timestamp"],
        "timestamp_type": row["timestamp_type"] or "CreateTime",
        "partition_leader_epoch": -1 if epoch is None else epoch,
    }


def times_of(rows: list[Row]) -> list[int]:
    """Return times to look up in a partition: in the middle, before all records, after them."""
    times = [-1 if row["timestamp"] is None else row["timestamp"] for row in rows]
    known = [time for time in times if time >= 0]
    if not known:
        return [0]
    return list(dict.fromkeys([known[len(known) // 2], 0, min(max(known), 2**63 - 2) + 1]))


def wrong_lookups(
    consumed: Consumed, where: TopicPartition, rows: list[Row], paths: Sequence[Path]
) -> list[Any]:
    """Return the times for which a client found another record than the first that has it.

    A broker finds nothing if an earlier segment without timestamps has a file time that reaches
    the time (LogSegment.largestTimestamp).

    Args:
        consumed: what the client got.
        where: the partition.
        rows: all its records, in both isolations. Markers, which no client gets, are found, too.
        paths: the directories that were served.
    """
    offsets = {row["offset"] for row in rows}
    timed = {row["offset"] for row in map(as_served, rows) if row["timestamp"] >= 0}
    blind = segments_without(timed, paths, where)
    wrong = []
    for time, (offset, timestamp) in consumed.found[where].items():
        reaching = (row["offset"] for row in map(as_served, rows) if row["timestamp"] >= time)
        expected = next(reaching, -1)
        is_marker = offset >= 0 and offset not in offsets and timestamp >= time
        is_before = expected < 0 or offset < expected
        is_blind = offset < 0 and any(base <= expected and at >= time for base, at in blind)
        if offset != expected and not (is_marker and is_before) and not is_blind:
            wrong.append((where, time, offset, expected))
    return wrong


def segments_without(
    offsets: set[int], paths: Sequence[Path], where: TopicPartition
) -> list[tuple[int, int]]:
    """Return base offsets and file times, ms, of a partition's segments that hold none of them."""
    files = [file for path in paths for file in path.glob(f"**/{where[0]}-{where[1]}/*.log")]
    files += [file for path in paths for file in path.glob("*.log")]
    found = sorted((int(file.stem), file) for file in files)
    ends = [base for base, _ in found[1:]] + [1 << 63]
    return [
        (base, file.stat().st_mtime_ns // 1_000_000)
        for (base, file), end in zip(found, ends, strict=True)
        if not any(base <= offset < end for offset in offsets)
    ]


def broker_ends(paths: Iterable[Path]) -> dict[tuple[str, int], int]:
    """Return where a broker ends each log: perhaps before records that a scan reads."""
    logs = wb.open_log_directory(paths)
    return {
        (each.topic, each.partition): each.broker_log_end_offset
        for each in logs.values()
        if each.kind == "log"
    }


@pytest.mark.broker
def test_a_java_client_of_the_server_consumes_what_a_scan_gives(
    opened: Opened, consumers: JavaConsumers
) -> None:
    """Of every era and codec, damaged or not, in both isolations, and from a time on."""
    case = opened.case
    wanted = []
    for isolation in ISOLATIONS:
        labels = tuple(case.consumed_labels)
        for label in dict.fromkeys((*labels[:1], *labels[-1:])):  # those between are scanned alone
            topics = {topic for topic, _ in by_partition(case.consumed(isolation, label))}
            groups = [[path] for path in directories(case, label)]
            if case.kind == "dirs":
                groups = [directories(case, label)]
            for paths in groups if topics else ():
                records = opened.read(paths).records
                times = {where: times_of(rows) for where, rows in records.items()}
                of_topics = {where: each for where, each in times.items() if where[0] in topics}
                wanted.append(Wanted(tuple(paths), isolation, of_topics))
    before = {path: changes(path) for each in wanted for path in each.paths}
    wrong: list[Any] = []
    for each, consumed in zip(wanted, consumers.consume(wanted), strict=True):
        everything = opened.read(each.paths).records
        scanned = opened.read(each.paths, each.isolation).records
        ends = broker_ends(each.paths)
        for where in each.times:
            served = [row for row in scanned.get(where, []) if row["offset"] < ends[where]]
            expected = list(map(as_served, served))
            if consumed.records[where] != expected:
                wrong.append((each, where, "records"))
            start = next(iter(consumed.found[where].values()))[0]
            later = [row["offset"] for row in expected if 0 <= start <= row["offset"]]
            if consumed.later[where] != later:
                wrong.append((each, where, "from a time on"))
            if each.isolation == "read_uncommitted":
                wrong += wrong_lookups(consumed, where, everything[where], each.paths)
    assert wrong == []
    assert {path: changes(path) for path in before} == before


@pytest.mark.parametrize("name", ["3.9.1-tiered", "4.2.0-tiered"])
def test_segments_in_remote_storage_read_like_local_ones(name: str, golden: Golden) -> None:
    case = golden(name)
    stored: dict[str, dict[int, Row]] = defaultdict(dict)
    for path in sorted((case.path / "tier").rglob("*.log")):
        topic = path.parent.name.rsplit("-0-", 1)[0]
        for records in read_log(open_segment(path)).records.values():
            stored[topic] |= {record["offset"]: record for record in records}
    assert stored
    local = read(case.directory("data")).records
    for where, told in by_partition(case.consumed("read_uncommitted")).items():
        ours = {row["offset"] for row in local[where]}
        assert {row["offset"] for row in told} <= ours | set(stored[where[0]])
        for row in told:
            if row["offset"] in stored[where[0]]:
                record = stored[where[0]][row["offset"]]
                assert record["timestamp"] == row["timestamp"]
                assert record["valueSize"] == len(row["value"]) // 2


def compacted_topics(case: Case) -> set[str]:
    """Return the topics that a cleaner may have cleaned."""
    topics: dict[str, Any] = case.info.get("topics") or case.info["config"]["topics"]
    if case.kind == "compact-nullkeys":  # its topics are compacted only once they are filled
        return set(topics)
    return {
        topic for topic, config in topics.items() if "compact" in str(config.get("config", config))
    }


def may_be_cleaned_away(row: Row, rows: list[Row]) -> bool:
    """Return whether a cleaner may have removed a record: no key, no value, aborted, superseded.

    Args:
        row: a line of truth.
        rows: all of its partition, up to the log's end.
    """
    fate = str(row.get("txn") or row.get("tag") or "")
    return (
        row["key"] is None
        or row.get("value", "") is None
        or "abort" in fate
        or any(later["key"] == row["key"] and row["offset"] < later["offset"] for later in rows)
    )


def is_known(case: Case, topic: str, difference: Any) -> bool:
    """Return whether a difference from truth is a broker's or a client's doing."""
    name, _, found = difference
    if name == "timestamp":
        # Stored without timestamps, or 0.10.0.1, which reports the producer's, not the stored one.
        return found is None or (case.version == "0.10.0.1" and "appendtime" in topic)
    return name == "producerEpoch" and (case.name, topic) in LATER_EPOCH


def wrong_records(
    case: Case, where: TopicPartition, told: dict[int, Row], found: list[Row]
) -> Iterator[Any]:
    """Yield records that nobody sent, or that differ from what was sent."""
    # Killed before the answer was sent; only later clients note that as an error.
    unsure = {row["topic"] for row in case.truth() if "error" in row}
    for row in found:
        offset = row["offset"]
        if offset in told:
            for what in differences(told[offset], row):
                if not is_known(case, where[0], what):
                    yield where, offset, what
        elif where[0] not in unsure and case.kind != "crash":
            yield where, offset, "was never acknowledged"


def missing_records(
    case: Case, where: TopicPartition, told: dict[int, Row], found: list[Row], bounds: LogBounds
) -> Iterator[Any]:
    """Yield acknowledged records between log start and log end that are not there."""
    offsets = {row["offset"] for row in found}
    cleaned = where[0] in compacted_topics(case)
    for offset, row in told.items():
        if offset not in offsets and bounds.start <= offset < bounds.end:
            rows = [later for later in told.values() if later["offset"] < bounds.end]
            if not cleaned or not may_be_cleaned_away(row, rows):
                yield where, offset, "is missing"


def test_every_acknowledged_record_is_there_as_it_was_sent(opened: Opened) -> None:
    """Before and after cleaning, retention and crashes; nothing is there that was not sent."""
    case = opened.case
    wrong: list[Any] = []
    for label in case.labels if opened.truth else ():
        reading = opened.read([case.directory(label)])
        bounds = log_bounds(case.directory(label))
        for where, found in reading.records.items():
            # Records of unclean elections were acknowledged twice over.
            if where in opened.truth and not where[0].startswith(("unclean", "dmg-", "d-")):
                told = opened.truth[where]
                wrong += wrong_records(case, where, told, found)
                if label != "kill9":  # segments wait in files with .swap
                    wrong += missing_records(case, where, told, found, bounds[where])
        if not case.kind.startswith(("damage", "crash")):
            assert reading.findings == []
    assert wrong == []


def test_no_damaged_topic_gives_a_record_that_was_not_sent(opened: Opened) -> None:
    for label in opened.case.labels if opened.case.kind.startswith("damage") else ():
        reading = opened.read([opened.case.directory(label)])
        for where, found in reading.records.items():
            if where in opened.truth and opened.is_damaged(where[0]):
                told = opened.truth[where]
                false = [r["offset"] for r in found if any(differences(told[r["offset"]], r))]
                # One bit of the base offset is turned over there: no CRC covers it.
                assert not false or "flip-offset" in where[0]
                offsets = [row["offset"] for row in found]
                assert offsets == sorted(set(offsets))
