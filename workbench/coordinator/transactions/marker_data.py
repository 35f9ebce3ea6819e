"""Find for each transaction marker of a log the data that it ends, or the reason why there is none.

The reverse, data without a marker, is an open transaction. A marker and its data have the producer
id in common; the marker's epoch may be higher, by one where the coordinator fenced the producer or
the transaction timed out, and always in transaction version 2.

A marker without data is legal in every version. Of a partition that a transaction added but did
not write to, the coordinator knows no better. A coordinator that loads a prepared transaction
writes all its markers again. Retention and compaction delete data and keep markers longer: the
cleaner until the delete horizon.

Kafka: TransactionMarkerChannelManager.addTxnMarkersToSend, ProducerAppendInfo.appendEndTxnMarker,
CleanedTransactionMetadata.onControlBatchRead (4.2)
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.runtime.log_records import LogRecord, read_log_records
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.coordinator.transactions.transaction_load import (
    apply_record,
)
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
)
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.transaction_markers import is_marker
from workbench.layout import problems
from workbench.layout.control_records import ABORT, COMMIT
from workbench.record.control import decode_control_type, decode_end_transaction
from workbench.record.reading.reader import KEYS, VALUES
from workbench.runtime.words import plural

DATA: Final = "data"
UNREADABLE: Final = "unreadable"
COMPACTED: Final = "compacted"
DELETED: Final = "deleted"
REPEATED: Final = "repeated"
NOT_WRITTEN: Final = "not written"
MISSING: Final = "missing"
VERDICTS: Final = (DATA, UNREADABLE, COMPACTED, DELETED, REPEATED, NOT_WRITTEN, MISSING)

_ENDS: Final = {"PrepareCommit": True, "PrepareAbort": False}
_BUMPS: Final = 2  # the transaction version in which each transaction has its own epoch
_End = tuple[int, int, bool]
"""Producer id, epoch, and whether it commits."""

_FIELDS: Final = ["base_offset", "last_offset", "record_count", "producer_epoch"]


@dataclass(frozen=True, slots=True)
class MarkerData:
    """A transaction marker, and the data of its producer before it.

    Attributes:
        where: the partition.
        offset: the marker's offset.
        producer_id, producer_epoch: the marker's producer.
        coordinator_epoch: the leader epoch of the coordinator that wrote it; None: not readable.
        is_commit: whether it commits; False: it aborts.
        timestamp: when it was written, ms; -1: none.
        first_offset, last_offset: of the data since the producer's previous marker; None: no data.
        records: how many records of that data are in the log.
        data_epoch: the producer epoch of the last of that data; None: no data.
        transactional_id: the transactional id that has the producer now; None: none has.
        verdict: "data", or why there is none: "unreadable", "compacted", "deleted" (with the log
            start), "repeated" (its producer's last marker says the same), "not written", or
            "missing", which none of these explains; None: unknown.
        reason: the verdict as a sentence.
        path, position: `.log` file and byte where the marker is.
    """

    where: TopicPartition
    offset: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    is_commit: bool
    timestamp: int
    first_offset: int | None
    last_offset: int | None
    records: int
    data_epoch: int | None
    transactional_id: str | None
    verdict: str | None
    reason: str
    path: str
    position: int

    @property
    def name(self) -> str:
        """The marker's type, as Kafka writes it."""
        return "COMMIT" if self.is_commit else "ABORT"


class _Control(NamedTuple):
    """The contents of a marker's record."""

    is_commit: bool
    coordinator_epoch: int | None
    timestamp: int


class _Counts(NamedTuple):
    """What the log lacks from its start to a batch."""

    missing_offsets: int = 0
    unreadable: int = 0


class _Previous(NamedTuple):
    """A producer's last marker."""

    offset: int
    epoch: int
    is_commit: bool
    counts: _Counts


class _Data(NamedTuple):
    """A producer's data since its last marker."""

    first: int
    last: int
    records: int
    epoch: int


class _Walk:
    """Matches the markers of one log with the data before them, segment by segment.

    Keeps one entry per producer.
    """

    def __init__(self, partition: DiskPartition, decisions: "_Decisions") -> None:
        self._where = TopicPartition(partition.topic, partition.partition)
        self._decisions = decisions
        self._start = partition.segments[0].base_offset if partition.segments else 0
        self._expected = self._start  # the next offset, if none is missing
        self._counts = _Counts()
        self._previous: dict[int, _Previous] = {}
        self._data: dict[int, _Data] = {}

    def take(self, segment: Segment) -> Iterator[MarkerData]:
        """Yield the markers of the next segment, ascending by offset."""
        try:
            for table in segment.batch_parts():
                if len(table):
                    yield from self._take_part(segment, table.rows)
        except OSError:  # `inspection.verify.verify` reports it
            self._counts = self._counts._replace(unreadable=self._counts.unreadable + 1)

    def _take_part(self, segment: Segment, rows: Any) -> list[MarkerData]:
        controls = _controls(segment, rows)
        missing, unreadable = self._lacking(rows)
        is_control = rows["is_control"]
        is_ok = rows["problem"] == problems.OK
        chosen = np.flatnonzero(rows["is_transactional"] & is_ok & (rows["magic"] == 2))
        order = chosen[np.argsort(rows["producer_id"][chosen], kind="stable")]
        found = []
        for first, end in _groups(rows["producer_id"][order], is_control[order]):
            at = order[first:end]
            producer, last = int(rows["producer_id"][at[-1]]), int(at[-1])
            ends = bool(is_control[last])
            self._add(producer, rows[_FIELDS][at[:-1] if ends else at])
            control = controls.get(int(rows["position"][last]))
            if ends and control is not None:
                counts = _Counts(int(missing[last]), int(unreadable[last]))
                found.append(self._end(segment.path, rows[last], control, counts))
        return sorted(found, key=lambda each: each.offset)

    def _lacking(self, rows: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return int64[m] twice: the missing offsets and unreadable batches up to each batch."""
        base, last = rows["base_offset"], rows["last_offset"]
        expected = np.concatenate([[self._expected], last[:-1] + 1])
        gaps = np.maximum(base - expected, 0)
        missing = self._counts.missing_offsets + np.cumsum(gaps)
        unreadable = self._counts.unreadable + np.cumsum(rows["problem"] != problems.OK)
        self._expected = int(last[-1]) + 1
        self._counts = _Counts(int(missing[-1]), int(unreadable[-1]))
        return missing, unreadable

    def _add(self, producer: int, rows: Any) -> None:
        """Add batches of a producer, at least none."""
        if not len(rows):
            return
        known = self._data.get(producer)
        first = int(rows["base_offset"][0]) if known is None else known.first
        count = int(rows["record_count"].sum()) + (0 if known is None else known.records)
        last, epoch = int(rows["last_offset"][-1]), int(rows["producer_epoch"][-1])
        self._data[producer] = _Data(first, last, count, epoch)

    def _end(self, path: str, row: Any, control: _Control, counts: _Counts) -> MarkerData:
        producer, epoch = int(row["producer_id"]), int(row["producer_epoch"])
        offset = int(row["base_offset"])
        previous = self._previous.get(producer)
        self._previous[producer] = _Previous(offset, epoch, control.is_commit, counts)
        data = self._data.pop(producer, None)
        first, last, count, data_epoch = (None, None, 0, None) if data is None else data
        made = MarkerData(
            self._where, offset, producer, epoch, control.coordinator_epoch, control.is_commit,
            control.timestamp, first, last, count, data_epoch, self._decisions.owner(producer),
            None, "", path, int(row["position"]),
        )  # fmt: skip
        verdict, reason = self._judge(made, previous, counts)
        return replace(made, verdict=verdict, reason=reason)

    def _judge(
        self, made: MarkerData, previous: _Previous | None, counts: _Counts
    ) -> tuple[str | None, str]:
        if made.first_offset is not None and not made.records:
            return COMPACTED, (
                f"compaction emptied the producer's batches from offset {made.first_offset} to "
                f"{made.last_offset}"
            )
        if made.first_offset is not None:
            return DATA, f"it ends {plural(made.records, 'record')} of the producer"
        since = f"offset {self._start if previous is None else previous.offset}"
        before = _Counts() if previous is None else previous.counts
        unreadable = counts.unreadable - before.unreadable
        if unreadable:
            bad = plural(unreadable, "batch or segment", "batches or segments")
            return UNREADABLE, f"{bad} between {since} and the marker cannot be read"
        missing = counts.missing_offsets - before.missing_offsets
        if missing:
            lost = f"{plural(missing, 'offset')} between {since} and the marker"
            return COMPACTED, f"{lost} are gone, as after compaction: the data may be among them"
        if previous is None and self._start > 0:
            return DELETED, (
                f"the log begins at offset {self._start} and has nothing else of the producer: the "
                "data may have been before it"
            )
        known = (made.producer_epoch, made.is_commit)
        if previous is not None and (previous.epoch, previous.is_commit) == known:
            return REPEATED, (
                f"the producer's marker at offset {previous.offset} has the same epoch and type: a "
                "coordinator that loads a prepared transaction writes its markers again, and "
                "kafka-transactions.sh abort writes one before the coordinator does"
            )
        return self._decisions.judge(made)


class _Decision(NamedTuple):
    """What is kept of a decided end; its partitions may be many."""

    transactional_id: str
    log_partition: int
    record_offset: int
    client_transaction_version: int


class _Decisions:
    """What `__transaction_state` says of transactions that were decided.

    Its log is read once more, for all records instead of the newest, when it is first asked. What
    is kept grows with the markers without data, not with what the records list.

    Args:
        coordinator: the loaded transactional ids.
        partitions: the logs whose markers are judged.
    """

    def __init__(
        self, coordinator: StoredTransactions, partitions: Iterable[DiskPartition]
    ) -> None:
        self._coordinator = coordinator
        self._partitions = partitions
        self._owners = {state.producer_id: name for name, state in coordinator.transactions.items()}
        self._listing: dict[tuple[_End, TopicPartition], _Decision] = {}
        self._first: dict[_End, _Decision] = {}
        self._last: dict[_End, _Decision] = {}
        self._is_read = False

    def owner(self, producer: int) -> str | None:
        """Return the transactional id that has a producer id."""
        return self._owners.get(producer)

    def judge(self, made: MarkerData) -> tuple[str | None, str]:
        """Return the verdict about a marker without data in a log without gaps."""
        self._read()
        end = (made.producer_id, made.producer_epoch, made.is_commit)
        decided = "PrepareCommit" if made.is_commit else "PrepareAbort"
        listing, first = self._listing.get((end, made.where)), self._first.get(end)
        if listing is not None:
            return NOT_WRITTEN, (
                f"{listing.transactional_id!r} lists the partition ({decided} at offset "
                f"{listing.record_offset} of {TRANSACTIONS_TOPIC}-{listing.log_partition}) and "
                "wrote nothing to it since its previous marker"
            )
        is_whole = self._is_whole
        if first is not None and (is_whole or first.client_transaction_version >= _BUMPS):
            last = self._last[end]
            return MISSING, (
                f"{decided} of {last.transactional_id!r} at offset {last.record_offset} of "
                f"{TRANSACTIONS_TOPIC}-{last.log_partition} does not list the partition"
            )
        if is_whole:
            return MISSING, (
                f"no record of {TRANSACTIONS_TOPIC} decides it, and nothing was removed from there"
            )
        return None, (
            f"{TRANSACTIONS_TOPIC} no longer says whether the transaction added the partition: a "
            "partition that was added but not written to has such a marker"
        )

    def _read(self) -> None:
        """Read each decided end that is still in the log, and that a marker without data needs."""
        if self._is_read:
            return
        self._is_read = True
        wanted: dict[tuple[int, int], set[TopicPartition]] = {}
        for partition in self._partitions:
            where = TopicPartition(partition.topic, partition.partition)
            with suppress(OSError):
                for producer in _without_data(partition):
                    wanted.setdefault(producer, set()).add(where)
        for state in decided_states(self._coordinator):
            places = wanted.get((state.producer_id, state.producer_epoch))
            if places is None:
                continue
            end = (state.producer_id, state.producer_epoch, _ENDS[state.state])
            decision = _Decision(
                state.transactional_id,
                state.log_partition,
                state.record_offset,
                state.client_transaction_version,
            )
            self._first.setdefault(end, decision)
            self._last[end] = decision
            for where in places.intersection(state.partitions):
                self._listing.setdefault((end, where), decision)

    @cached_property
    def _is_whole(self) -> bool:
        """Whether no record of the topic is missing, since its first."""
        return self._coordinator.is_complete and all(
            _is_whole(load.partition) for load in self._coordinator.loads
        )


def decided_states(coordinator: StoredTransactions) -> Iterator[TransactionMetadata]:
    """Yield each decided end that is still in the coordinator's log, in log order.

    Raises:
        OSError: a file cannot be read.
    """
    for load in coordinator.loads:
        yield from (state for state in _states(load.partition) if state.state in _ENDS)


def _states(partition: DiskPartition) -> Iterator[TransactionMetadata]:
    """Yield the state in each record that can be read."""
    for record in read_log_records(partition, []):
        if isinstance(record, LogRecord):
            states: dict[str, TransactionMetadata] = {}
            with suppress(CorruptRecordError, UnsupportedFormatError):
                apply_record(states, partition.partition, record)
            yield from states.values()


def _is_whole(partition: DiskPartition) -> bool:
    expected = 0
    for segment in partition.segments:
        for table in segment.batch_parts():
            rows = table.rows
            if len(rows):
                starts = np.concatenate([[expected], rows["last_offset"][:-1] + 1])
                is_sound = np.all(rows["problem"] == problems.OK)
                if not is_sound or np.any(rows["base_offset"] != starts):
                    return False
                expected = int(rows["last_offset"][-1]) + 1
    return True


def _groups(
    producers: npt.NDArray[np.int64], is_control: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, int]]:
    """Yield the runs of batches of one producer, each up to and with its next marker."""
    if not len(producers):
        return
    begins = np.ones(len(producers), np.bool_)
    begins[1:] = (producers[1:] != producers[:-1]) | is_control[:-1]
    starts = np.flatnonzero(begins).tolist()
    yield from zip(starts, [*starts[1:], len(producers)], strict=True)


def _controls(segment: Segment, rows: Any) -> dict[int, _Control]:
    """Return the contents of a segment's markers by their position."""
    at = np.flatnonzero(is_marker(rows))
    found: dict[int, _Control] = {}
    if not len(at):
        return found
    stop = int(rows["position"][at[-1]] + rows["size"][at[-1]])
    start = int(rows["position"][at[0]])
    for chunk in segment.read(start, stop, options=KEYS | VALUES, select=is_marker):
        columns = chunk.columns
        assert columns.keys is not None
        assert columns.values is not None
        for number, batch in enumerate(columns.batch.tolist()):
            control = _control(
                columns.keys.item(number),
                columns.values.item(number),
                int(columns.timestamps[number]),
            )
            if control is not None:  # the first control record decides about the batch
                found.setdefault(int(chunk.rows["position"][batch]), control)
    return found


def _control(key: bytes | None, value: bytes | None, timestamp: int) -> _Control | None:
    """Return the contents of a transaction marker; None for a control record of another kind."""
    try:
        kind = decode_control_type(key)
    except CorruptRecordError:
        return None
    if kind not in (ABORT, COMMIT):
        return None
    try:
        epoch = decode_end_transaction(value).coordinator_epoch
    except CorruptRecordError:
        epoch = None
    return _Control(kind == COMMIT, epoch, timestamp)


def marker_data(
    coordinator: StoredTransactions, partitions: Iterable[DiskPartition]
) -> Iterator[MarkerData]:
    """Yield the transaction markers of logs, by partition and offset, each with its data.

    Walks the batch headers of the logs and reads their markers. Keeps one entry per producer of a
    log.

    Args:
        coordinator: the loaded transactional ids.
        partitions: the partitions whose logs are read.
    """
    chosen = [*partitions]
    decisions = _Decisions(coordinator, chosen)
    for partition in chosen:
        if partition.topic != TRANSACTIONS_TOPIC:
            walk = _Walk(partition, decisions)
            for segment in partition.segments:
                yield from walk.take(segment)


def _lacks_data(partition: DiskPartition) -> bool:
    """Return whether a marker has no data before it; from the batch headers alone, so it is fast.

    Raises:
        OSError: a file cannot be read.
    """
    return any(True for _ in _without_data(partition))


def _without_data(partition: DiskPartition) -> Iterator[tuple[int, int]]:
    """Yield producer id and epoch of the markers that have no data before them, by the headers.

    Raises:
        OSError: a file cannot be read.
    """
    waiting: set[int] = set()  # producers with data since their last marker
    for segment in partition.segments:
        for table in segment.batch_parts():
            rows = table.rows
            chosen = rows[rows["is_transactional"] & (rows["magic"] == 2)]
            chosen = chosen[np.argsort(chosen["producer_id"], kind="stable")]
            if not len(chosen):
                continue
            producers, is_control = chosen["producer_id"], chosen["is_control"]
            is_first = np.ones(len(chosen), np.bool_)
            is_first[1:] = producers[1:] != producers[:-1]
            is_last = np.append(is_first[1:], np.True_)
            lacks = is_control & np.append(np.False_, is_control[:-1]) & ~is_first
            begins = np.flatnonzero(is_control & is_first)
            lacks[begins] = [each not in waiting for each in producers[begins].tolist()]
            for row in chosen[lacks]:
                yield int(row["producer_id"]), int(row["producer_epoch"])
            waiting.update(producers[is_last & ~is_control].tolist())
            waiting.difference_update(producers[is_last & is_control].tolist())


def markers_without_data(
    coordinator: StoredTransactions, partitions: Iterable[DiskPartition]
) -> list[Finding]:
    """Return a finding for each marker whose data is missing, and nothing explains it.

    Walks the batch headers of the logs, and of those with a marker without data the markers.

    Args:
        coordinator: the loaded transactional ids.
        partitions: the partitions whose logs are read.
    """
    return [
        Finding(
            "marker-without-data",
            "warning",
            each.path,
            each.position,
            each.offset,
            f"{'a' if each.is_commit else 'an'} {each.name} marker of producer "
            f"{each.producer_id} with epoch {each.producer_epoch}, and no record of the producer "
            f"before it; {each.reason}",
            "records of the producer since its previous marker",
            "A broker reads on: the marker ends nothing. If the transaction wrote to this "
            "partition, its records are lost.",
        )
        for each in marker_data(coordinator, filter(_lacks_data, partitions))
        if each.verdict == MISSING
    ]
