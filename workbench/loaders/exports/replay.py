"""Write the records of a scan into a running cluster, each once, with confluent-kafka.

Records keep topic, partition, order, key, value, headers and timestamp; they get new offsets. Each
transaction on the target holds records of one partition, and the offset in the source to continue
at, committed for a group that is named after the replay. So a replay that was stopped at any point
continues there, and consumers with read_committed see every record once. The metadata of the
offset says which source it is of, because offsets of another topic or directory say nothing of it.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import pyarrow as pa

from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.errors import CorruptDataWarning, CorruptRecordError, ReplayError
from workbench.file_system.source import is_uri
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.scan.scan import Scan
from workbench.runtime.extras import optional
from workbench.runtime.words import plural
from workbench.tables.replay import ReplayRow
from workbench.values.printing import plain_value
from workbench.values.types import is_bytes

GROUP: Final = "kafka-workbench-replay."
COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers")
_MOST_RECORDS: Final = 10_000  # of a transaction
_MOST_BYTES: Final = 16 << 20
_WAIT_S: Final = 30.0
_LOOK_S: Final = 2.0  # between looks at whether any broker was reached

Record = Mapping[str, Any]
OtherSource = Literal["fail", "restart", "continue"]


def replay(
    scan: Scan,
    to: str | Mapping[str, Any],
    *,
    name: str = "replay",
    create_topics: bool = False,
    rate: float | None = None,
    progress: Callable[[int], None] | None = None,
    other_source: OtherSource = "fail",
) -> list[ReplayRow]:
    """Write records to the partitions of the same names; return a row for each partition.

    Args:
        scan: what is written, with the columns `COLUMNS`. Masked or decoded values are written as
            their JSON, and text as it is; a record of which one cannot be decoded is not written.
        to: ``host:port`` of a broker, or librdkafka's configuration of a client.
        name: of the replay. A second one of this name writes only what is new; while one runs,
            another of its name is fenced.
        create_topics: whether to create topics that are missing, with the partitions of the source
            and the defaults of the cluster; times are those of the records.
        rate: records per second at the most.
        progress: receives the number of records after each transaction.
        other_source: what to do where a replay of this name read another source: another cluster,
            another topic of the name, or another directory where topics have no ids. "fail",
            "restart" at the log start, or "continue" at its offset.

    Raises:
        MissingDependencyError: confluent-kafka is not installed.
        ReplayError: the cluster cannot be reached, lacks a topic or partition, or refuses records;
            or the replay read another source, or a longer log, before;
            what was committed before is kept, and a replay of the same name continues there.

    Internal topics are not written: groups and transactions belong to the cluster they are in.
    """
    kafka = optional("confluent_kafka", "confluent-kafka")
    partitions = [each for each in scan.partitions if each.topic not in HIDDEN_TOPICS]
    with_servers = {"bootstrap.servers": to} if isinstance(to, str) else dict(to)
    target = _Target(kafka, with_servers, name)
    target.check(scan, partitions, create_topics=create_topics)
    pace = _Pace(rate)
    # Every start is known before anything is written.
    starts = [
        (each, target.start(each, _Source.of(scan, each), other_source)) for each in partitions
    ]
    return [_replay_one(scan, each, start, target, pace, progress) for each, start in starts]


class _Source(NamedTuple):
    """What a partition is read from; an offset is of no use for another one.

    Attributes:
        cluster: the cluster's id; "": unknown.
        topic: the topic's id; "": unknown.
        directory: a hash of the path of the partition directory.
    """

    cluster: str
    topic: str
    directory: str

    @classmethod
    def of(cls, scan: Scan, partition: DiskPartition) -> "_Source":
        """Return the source of a partition."""
        path = partition.path if is_uri(partition.path) else os.path.realpath(partition.path)
        roots = (root for root in scan.listing.roots if partition.path.startswith(root.path))
        found = (root.meta_properties for root in roots)
        cluster = next((each.cluster_id for each in found if each and each.cluster_id), "")
        return cls(cluster, partition.topic_id or "", sha256(os.fsencode(path)).hexdigest()[:16])

    def difference(self, text: str) -> str | None:
        """Say how the source of a committed offset differs; None: it does not, or is unknown.

        Args:
            text: the metadata of the offset.
        """
        try:
            other = _Source(*json.loads(text))
        except (TypeError, ValueError):
            return None  # a replay of an earlier version
        if self.cluster and other.cluster and self.cluster != other.cluster:
            return f"cluster {other.cluster}, and this is {self.cluster}"
        if self.topic and other.topic:
            is_other = self.topic != other.topic
            return f"topic id {other.topic}, and this is {self.topic}" if is_other else None
        return "another directory" if self.directory != other.directory else None


def _replay_one(
    scan: Scan,
    partition: DiskPartition,
    start: int,
    target: "_Target",
    pace: "_Pace",
    progress: Callable[[int], None] | None,
) -> ReplayRow:
    offset, records, size, new_times = start, 0, 0, 0
    source = _Records(scan, partition, start)
    for chunk in source.chunks(pace.most):
        target.write(partition, chunk)
        offset = chunk[-1]["offset"] + 1
        records += len(chunk)
        size += sum(map(_size, chunk))
        new_times += sum(record["timestamp"] <= 0 for record in chunk)
        if progress is not None:
            progress(len(chunk))
        pace.wait(len(chunk))
    if source.found:
        lost = [f"{plural(source.undecoded, 'record')} not written"] if source.undecoded else []
        if source.incomplete:
            lost.append(
                f"{plural(source.incomplete, 'key or value', 'keys and values')} incomplete"
            )
        first = source.found[0]
        text = f"{partition.name}: {', '.join(lost)}, from offset {first.offset}: {first.found}"
        warn_caller(text, CorruptDataWarning)
    return ReplayRow(
        partition.topic, partition.partition, start, offset, records, size, new_times,
        len(source.scan.findings), source.undecoded, source.incomplete,
    )  # fmt: skip


class _Records:
    """The records of one partition, from an offset on, as they are written.

    A record of which a key or value cannot be decoded is left out: without its value it would be a
    tombstone, which deletes what came before it.

    Attributes:
        scan: reads them, and neither decodes nor masks.
        undecoded: how many were left out until now.
        incomplete: how many keys and values lack a field that does not fit its type.
        found: why.
    """

    def __init__(self, scan: Scan, partition: DiskPartition, start: int) -> None:
        self._values = scan.values
        self._schema = scan.schema
        self._raises = scan.on_corrupt == "raise"
        self._partition = partition
        self.scan = scan._bare(self._values.read, [partition])  # noqa: SLF001 - of this house
        given = scan.offsets
        given = given.get(partition.name) if isinstance(given, Mapping) else given
        first, end = given or (None, None)
        self.scan.offsets = (max(start, first or 0), end)
        self.undecoded = self.incomplete = 0
        self.found: list[Finding] = []

    def chunks(self, most: int) -> Iterator[list[dict[str, Any]]]:
        """Yield the records of transactions."""
        chunk: list[dict[str, Any]] = []
        size = 0
        for read in self.scan.batches():
            for batch in map(self._decoded, self._values.parts(read)):
                times = batch["timestamp"].cast("int64").fill_null(-1).to_pylist()  # of any year
                columns = zip(times, _bytes(batch["key"]), _bytes(batch["value"]), strict=True)
                rows = batch.select(["offset", "headers"]).to_pylist()
                for row, (time_ms, key, value) in zip(rows, columns, strict=True):
                    row |= {"timestamp": time_ms, "key": key, "value": value}
                    size += _size(row)
                    chunk.append(row)
                    if len(chunk) >= most or size >= _MOST_BYTES:
                        yield chunk
                        chunk, size = [], 0
        if chunk:
            yield chunk

    def _decoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        where = self._partition
        applied = self._values.apply(batch, self._schema, where.topic, where.path)
        if applied.findings and self._raises:
            first = applied.findings[0]
            raise CorruptRecordError(first.path, first.position, first.found)
        self.found += applied.findings
        nulls = [each.null_rows for each in applied.lost]
        self.incomplete += applied.lost_count - sum(map(len, nulls))
        bad = {row for rows in nulls for row in rows.tolist()}
        if not bad:
            return applied.batch
        self.undecoded += len(bad)
        return applied.batch.take(pa.array(sorted({*range(batch.num_rows)} - bad)))


def _bytes(column: Any) -> list[bytes | None]:
    """Return bytes as they are, text as UTF-8, and what else is decoded as JSON."""
    if is_bytes(column.type):
        return list(column.to_pylist())
    values = map(plain_value, column)
    return [
        each if each is None else each.encode() if isinstance(each, str) else _json(each)
        for each in values
    ]


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _size(record: Record) -> int:
    return len(record["key"] or b"") + len(record["value"] or b"")


class _Pace:
    """Keeps a number of records per second."""

    def __init__(self, rate: float | None) -> None:
        if rate is not None and rate <= 0:
            raise ValueError(f"rate is {rate}, not above 0")
        self._rate = rate
        self._start = time.monotonic()
        self._written = 0
        self.most = _MOST_RECORDS if rate is None else max(1, min(_MOST_RECORDS, round(rate)))

    def wait(self, written: int) -> None:
        self._written += written
        if self._rate is not None:
            ahead = self._written / self._rate - (time.monotonic() - self._start)
            time.sleep(max(ahead, 0))


class _Target:
    """The cluster that is written to.

    Args:
        kafka: the module confluent_kafka.
        config: librdkafka's configuration.
        name: of the replay.
    """

    def __init__(self, kafka: Any, config: dict[str, Any], name: str) -> None:
        self._kafka = kafka
        self._config = config = {"log_level": 2, "error_cb": self._failed, **config}
        self._where = str(config.get("bootstrap.servers", "the cluster"))
        group = GROUP + name
        self._producer = kafka.Producer(
            {
                "linger.ms": 20,
                "message.max.bytes": 1_000_000_000,
                **config,
                "transactional.id": group,
                "on_delivery": self._delivered,
            }
        )
        self._consumer = kafka.Consumer({**config, "group.id": group, "enable.auto.commit": False})
        self._sources: dict[str, _Source] = {}
        self._refused = ""
        self._unreachable = ""
        self._is_down = False

    def check(self, scan: Scan, wanted: Sequence[DiskPartition], *, create_topics: bool) -> None:
        """Find every partition that is wanted, or create its topic.

        Raises:
            ReplayError: the cluster cannot be reached, or lacks some.
        """
        there = {
            topic.topic: len(topic.partitions)
            for topic in self._ask("list its topics", self._metadata).topics.values()
        }
        sizes: dict[str, int] = {}
        for each in scan.listing.partitions.values():
            sizes[each.topic] = max(sizes.get(each.topic, 0), each.partition + 1)
        missing = sorted({each.topic for each in wanted} - there.keys())
        if missing and create_topics:
            self._create({topic: sizes[topic] for topic in missing})
            there |= {topic: sizes[topic] for topic in missing}
        for each in wanted:
            found = there.get(each.topic, 0)
            if each.partition >= found:
                raise ReplayError(
                    self._where,
                    f"topic {each.topic} has {found} partitions (expected {sizes[each.topic]}, "
                    f"for {each.name})"
                    if found
                    else f"there is no topic {each.topic} (expected one of {sizes[each.topic]} "
                    "partitions): create it, or ask for missing topics to be created",
                )
        if wanted:
            self._ask("start a transactional producer", self._producer.init_transactions, _WAIT_S)

    def _metadata(self) -> Any:
        """Return the cluster's metadata; wait for it only as long as a broker may still answer."""
        end = time.monotonic() + _WAIT_S
        while True:
            try:
                return self._producer.list_topics(timeout=_LOOK_S)
            except self._kafka.KafkaException:
                self._producer.poll(0)  # calls `_failed`
                if self._is_down or time.monotonic() >= end:
                    raise

    def start(self, partition: DiskPartition, source: _Source, other: OtherSource) -> int:
        """Return the source's offset that a run of this name writes next.

        Raises:
            ReplayError: an earlier run read another source, or one that ended later.
        """
        self._sources[partition.name] = source
        asked = [self._kafka.TopicPartition(partition.topic, partition.partition)]
        (found,) = self._ask(
            "look up where the replay was", self._consumer.committed, asked, timeout=_WAIT_S
        )
        first = partition.log_start_offset or 0
        if found.offset < 0:
            return first
        difference = source.difference(found.metadata or "")
        if difference is None and found.offset > max(partition.log_end_offset, first):
            difference = (
                f"up to offset {found.offset}, and this log ends at {partition.log_end_offset}"
            )
        if difference is None or other == "continue":
            return max(int(found.offset), first)
        if other == "restart":
            return first
        raise ReplayError(
            self._where,
            f"{partition.name}: the replay of this name has read {difference}; use another name, "
            "or say what to do with another source: restart or continue",
        )

    def write(self, partition: DiskPartition, records: Sequence[Record]) -> None:
        """Write records, and how far the source was read, in one transaction."""
        where = self._kafka.TopicPartition(
            partition.topic,
            partition.partition,
            records[-1]["offset"] + 1,
            metadata=json.dumps(self._sources[partition.name]),
        )
        self._refused = ""
        try:
            self._ask("begin a transaction", self._producer.begin_transaction)
            for record in records:
                self._produce(partition, record)
            self._ask(
                f"take records of {partition.name}",
                self._producer.send_offsets_to_transaction,
                [where],
                self._consumer.consumer_group_metadata(),
                _WAIT_S,
            )
            self._ask(f"commit records of {partition.name}", self._producer.commit_transaction, -1)
        except BaseException:
            self._abort()
            raise

    def _produce(self, partition: DiskPartition, record: Record) -> None:
        while True:
            try:
                self._producer.produce(
                    partition.topic,
                    value=record["value"],
                    key=record["key"],
                    partition=partition.partition,
                    timestamp=max(record["timestamp"], 0),
                    headers=[(each["key"], each["value"]) for each in record["headers"]],
                )
            except BufferError:  # the client's queue is full
                self._producer.poll(0.1)
            except self._kafka.KafkaException as error:
                raise self._error(
                    f"take offset {record['offset']} of {partition.name}", error
                ) from error
            else:
                return

    def _abort(self) -> None:
        # A producer that is fenced or cannot reach it leaves that to the coordinator's time-out.
        with contextlib.suppress(self._kafka.KafkaException):
            self._producer.abort_transaction(_WAIT_S)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None and not self._refused:
            self._refused = f"{message.topic()}-{message.partition()}: {error.str()}"

    def _failed(self, error: Any) -> None:
        if error.name() == "_ALL_BROKERS_DOWN":
            self._is_down = True
        else:
            self._unreachable = error.str()

    def _create(self, sizes: Mapping[str, int]) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient(self._config)
        config = {"message.timestamp.type": "CreateTime"}
        asked = [NewTopic(topic, size, -1, config=config) for topic, size in sizes.items()]
        for topic, future in admin.create_topics(asked, operation_timeout=_WAIT_S).items():
            self._ask(f"create topic {topic}", future.result)

    def _ask(self, what: str, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        try:
            return call(*args, **named)
        except self._kafka.KafkaException as error:
            raise self._error(what, error) from error

    def _error(self, what: str, error: Exception) -> ReplayError:
        (found, *_) = error.args
        problem = self._refused or (found.str() if hasattr(found, "str") else str(error))
        if hasattr(found, "name") and found.name() in {"_TRANSPORT", "_TIMED_OUT"}:
            problem = self._unreachable or problem
        return ReplayError(self._where, f"cannot {what}: {problem}")
