"""Arrow schemas: the only definition of column names, types and nullability.

Integers stay integers: what may be missing is a nullable int, never a float. Offsets and positions
are int64, times `timestamp[ms, UTC]`. Null is not empty.
"""

import json
from collections.abc import Iterable
from functools import cache
from typing import Final

import pyarrow as pa

from workbench.tables.columns import Column, columns_of

TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")
HEADERS: Final = pa.list_(
    pa.field(
        "item",
        pa.struct(
            [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.large_binary())]
        ),
        nullable=False,
    )
)


_OF_PANDAS: Final = {
    pa.int8(): ("int8", "Int8"),
    pa.int16(): ("int16", "Int16"),
    pa.int32(): ("int32", "Int32"),
    pa.int64(): ("int64", "Int64"),
    pa.bool_(): ("bool", "boolean"),
}


def table_schema(fields: Iterable[pa.Field]) -> pa.Schema:
    """Return a schema of which pandas keeps what may be missing: as `Int64`, never as floats.

    `pyarrow.Table.to_pandas`, and pandas when it reads a Parquet file, look into its metadata.
    """
    schema = pa.schema(fields)
    nullable = [field for field in schema if field.nullable and field.type in _OF_PANDAS]
    columns = [
        {
            "name": field.name,
            "field_name": field.name,
            "pandas_type": _OF_PANDAS[field.type][0],
            "numpy_type": _OF_PANDAS[field.type][1],
            "metadata": None,
        }
        for field in nullable
    ]
    told = {"index_columns": [], "column_indexes": [], "columns": columns}
    return schema.with_metadata({"pandas": json.dumps(told)}) if columns else schema


_OF_KIND: Final = {
    "string": pa.string(),
    "category": pa.dictionary(pa.int8(), pa.string()),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "time": TIMESTAMP,
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
}


@cache
def schema_of(row_class: type) -> pa.Schema:
    """Return the Arrow schema of a table that is declared as a row class."""
    return table_schema(map(_field, columns_of(row_class)))


def _field(column: Column) -> pa.Field:
    kind = _OF_KIND.get(column.kind)
    if column.item is not None:
        kind = pa.list_(_field(column.item))
    elif column.fields:
        kind = pa.struct(list(map(_field, column.fields)))
    return pa.field(column.name, kind, nullable=column.is_nullable)


def _fields(*fields: tuple[str, pa.DataType, bool]) -> dict[str, pa.Field]:
    return {name: pa.field(name, kind, nullable=nullable) for name, kind, nullable in fields}


RECORD_FIELDS: Final = _fields(
    ("topic", pa.string(), False),
    ("partition", pa.int32(), False),
    ("offset", pa.int64(), False),
    ("timestamp", TIMESTAMP, True),  # null: the record has none
    ("timestamp_type", pa.string(), True),  # CreateTime, LogAppendTime; null in magic 0
    ("key", pa.large_binary(), True),
    ("value", pa.large_binary(), True),  # null: a tombstone
    ("headers", HEADERS, False),
)
"""The columns of a scan unless others are asked for."""

BATCH_FIELDS: Final = _fields(
    ("producer_id", pa.int64(), True),
    ("producer_epoch", pa.int16(), True),
    ("sequence", pa.int32(), True),
    ("partition_leader_epoch", pa.int32(), True),
    ("codec", pa.string(), False),
    ("magic", pa.int8(), False),
    ("is_transactional", pa.bool_(), False),
    ("is_control", pa.bool_(), False),
    ("delete_horizon", TIMESTAMP, True),
    ("batch_base_offset", pa.int64(), True),
    ("batch_position", pa.int64(), False),  # byte in the segment's .log file
    ("segment", pa.int64(), False),  # base offset of the segment
    ("file", pa.string(), False),  # path of the segment's .log file
)
"""Columns a scan returns on request, from the record's batch."""

SCAN_FIELDS: Final = {**RECORD_FIELDS, **BATCH_FIELDS}

_WHERE: Final = _fields(("topic", pa.string(), False), ("partition", pa.int32(), False))
_SEGMENT: Final = _fields(("segment", pa.int64(), False))

SEGMENTS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("name", pa.string(), nullable=False),  # the partition directory's name
        pa.field("base_offset", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),  # bytes of the .log file
        pa.field("index_size", pa.int64()),  # bytes; null: no such file
        pa.field("time_index_size", pa.int64()),
        pa.field("transaction_index_size", pa.int64()),
        pa.field("modified", TIMESTAMP, nullable=False),
        pa.field("is_active", pa.bool_(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
    ]
)

REMOTE_SEGMENTS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("segment_id", pa.string(), nullable=False),
        pa.field("start_offset", pa.int64(), nullable=False),
        pa.field("end_offset", pa.int64()),  # included; null: no metadata
        pa.field("state", pa.string()),  # COPY_SEGMENT_STARTED, …; null: no metadata
        pa.field("size", pa.int64()),  # bytes of the .log file as it was in the log
        pa.field(
            "leader_epochs",
            pa.list_(
                pa.struct(
                    [
                        pa.field("epoch", pa.int32(), nullable=False),
                        pa.field("start_offset", pa.int64(), nullable=False),
                    ]
                )
            ),
            nullable=False,
        ),
        pa.field("broker_id", pa.int32()),
        pa.field("max_timestamp", TIMESTAMP),
        pa.field("event_time", TIMESTAMP),  # when it got its state
        pa.field("source", pa.string(), nullable=False),  # of the metadata: topic, files
        pa.field("files", pa.int32(), nullable=False),  # in the tier
        pa.field("is_read", pa.bool_(), nullable=False),  # a scan gets records from it
        pa.field("path", pa.string()),  # of the .log file; null: the tier has none
    ]
)

BATCHES: Final = table_schema(
    [
        *_WHERE.values(),
        *_SEGMENT.values(),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("base_offset", pa.int64()),  # null: a wrapper of magic 0 or 1 does not say
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("record_count", pa.int32()),
        pa.field("base_timestamp", TIMESTAMP),  # null where it is the delete horizon
        pa.field("max_timestamp", TIMESTAMP),
        pa.field("timestamp_type", pa.string()),
        pa.field("magic", pa.int8(), nullable=False),
        pa.field("codec", pa.string(), nullable=False),
        pa.field("is_transactional", pa.bool_(), nullable=False),
        pa.field("is_control", pa.bool_(), nullable=False),
        pa.field("delete_horizon", TIMESTAMP),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int16()),
        pa.field("base_sequence", pa.int32()),
        pa.field("last_sequence", pa.int32()),
        pa.field("partition_leader_epoch", pa.int32()),
        pa.field("attributes", pa.int16(), nullable=False),
        pa.field("crc", pa.uint32(), nullable=False),
        pa.field("problem", pa.string()),  # null: the header is sound
    ]
)

OFFSET_INDEX: Final = table_schema(
    [
        *_WHERE.values(),
        *_SEGMENT.values(),
        pa.field("entry", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("relative_offset", pa.int64(), nullable=False),  # to the segment's, as stored
        pa.field("position", pa.int64(), nullable=False),
    ]
)

TIME_INDEX: Final = table_schema(
    [
        *_WHERE.values(),
        *_SEGMENT.values(),
        pa.field("entry", pa.int32(), nullable=False),
        pa.field("timestamp", TIMESTAMP, nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("relative_offset", pa.int64(), nullable=False),  # to the segment's, as stored
    ]
)

ABORTED_TRANSACTIONS: Final = table_schema(
    [
        *_WHERE.values(),
        *_SEGMENT.values(),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("first_offset", pa.int64(), nullable=False),
        pa.field("last_offset", pa.int64(), nullable=False),  # the transaction marker's
        pa.field("last_stable_offset", pa.int64(), nullable=False),
    ]
)

PRODUCERS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("snapshot_offset", pa.int64(), nullable=False),  # state up to here, excluded
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("last_sequence", pa.int32()),
        pa.field("last_offset", pa.int64()),
        pa.field("offset_delta", pa.int32(), nullable=False),
        pa.field("timestamp", TIMESTAMP),
        pa.field("coordinator_epoch", pa.int32()),
        pa.field("current_transaction_first_offset", pa.int64()),  # null: no open transaction
    ]
)

CHECKPOINTS: Final = table_schema(
    [
        pa.field("root", pa.string(), nullable=False),
        pa.field("checkpoint", pa.string(), nullable=False),  # name of the file
        *_WHERE.values(),
        pa.field("offset", pa.int64(), nullable=False),
    ]
)

LEADER_EPOCHS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("epoch", pa.int32(), nullable=False),
        pa.field("start_offset", pa.int64(), nullable=False),
    ]
)

FILES: Final = table_schema(
    [
        pa.field("root", pa.string(), nullable=False),
        pa.field("folder", pa.string()),  # null: the file is in the log directory itself
        pa.field("name", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),  # what a broker uses it for, or "unknown"
        pa.field("size", pa.int64(), nullable=False),
        pa.field("occupied_bytes", pa.int64(), nullable=False),  # without holes of sparse files
        pa.field("modified", TIMESTAMP, nullable=False),
    ]
)

FINDINGS: Final = table_schema(
    [
        pa.field("severity", pa.string(), nullable=False),  # error, warning, info
        pa.field("kind", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("position", pa.int64()),  # byte; null: the whole file
        pa.field("offset", pa.int64()),
        pa.field("found", pa.string(), nullable=False),
        pa.field("expected", pa.string(), nullable=False),
        pa.field("broker", pa.string(), nullable=False),  # what a broker would do about it
    ]
)

EXPLANATION: Final = table_schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("segment", pa.int64()),  # base offset; null: the rule is about the whole log
        pa.field("verdict", pa.string(), nullable=False),  # `foresight.explain.rule_verdict.Word`
        pa.field("value", pa.string()),
        pa.field("threshold", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("due", TIMESTAMP),  # earliest change of the verdict without an append
        pa.field("kafka", pa.string(), nullable=False),  # class and method of 4.2
    ]
)

_PASS: Final = pa.field("round", pa.int32(), nullable=False)  # starts at 1

RECORD_DECISIONS: Final = table_schema(
    [
        _PASS,
        *_SEGMENT.values(),
        pa.field("batch_position", pa.int64(), nullable=False),  # byte in the segment's .log file
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("is_kept", pa.bool_(), nullable=False),
        pa.field("reason", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("newer_offset", pa.int64()),  # of the record that supersedes it; null: none does
    ]
)

BATCH_DECISIONS: Final = table_schema(
    [
        _PASS,
        *_SEGMENT.values(),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),  # bytes before
        pa.field("new_size", pa.int64(), nullable=False),  # bytes after; 0: removed
        pa.field("base_offset", pa.int64(), nullable=False),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("record_count", pa.int64(), nullable=False),  # before
        pa.field("verdict", pa.string(), nullable=False),  # copied, rebuilt, emptied, removed
        pa.field("kept_without_records", pa.string()),  # why; null: it is not
        pa.field("delete_horizon", TIMESTAMP),  # afterwards
    ]
)

REASONS: Final = table_schema(
    [
        _PASS,
        pa.field("is_kept", pa.bool_(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),  # of keys, values and headers, uncompressed
    ]
)

PLANNED_KEYS: Final = table_schema(
    [
        pa.field("key", pa.large_binary()),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),  # of keys, values and headers, uncompressed
        pa.field("dropped_records", pa.int64(), nullable=False),
        pa.field("dropped_bytes", pa.int64(), nullable=False),
    ]
)

CLEANING: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("is_compacted", pa.bool_(), nullable=False),
        pa.field("policy_source", pa.string(), nullable=False),  # where the policy is set
        pa.field("checkpoint", pa.int64()),  # the cleaner's; null: it does not name the log
        pa.field("first_dirty_offset", pa.int64()),  # null, as all columns below: not compacted
        pa.field("first_uncleanable_offset", pa.int64()),
        pa.field("bound", pa.string()),  # what stops the cleaner
        pa.field("clean_bytes", pa.int64()),
        pa.field("cleanable_bytes", pa.int64()),
        pa.field("uncleanable_bytes", pa.int64()),
        pa.field("ratio", pa.float64()),  # dirty share, 0 to 1
        pa.field("threshold", pa.float64()),  # min.cleanable.dirty.ratio
        pa.field("dirty_since", TIMESTAMP),  # what max.compaction.lag.ms is measured from
        pa.field("is_due", pa.bool_()),
        pa.field("order", pa.int32()),  # 1: cleaned first; null: not due
        pa.field("due", TIMESTAMP),  # if nothing is written; null: never
        pa.field("problem", pa.string()),  # why loading or cleaning fails
    ]
)

KEYS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("key", pa.large_binary()),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),  # of keys, values and headers, uncompressed
        pa.field("first_offset", pa.int64(), nullable=False),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("is_tombstone", pa.bool_(), nullable=False),  # the newest record
        pa.field("superseded_records", pa.int64(), nullable=False),  # without a key: all
        pa.field("superseded_bytes", pa.int64(), nullable=False),
    ]
)

DISK_USAGE: Final = table_schema(
    [
        pa.field("topic", pa.string()),  # null: outside partition directories
        pa.field("partition", pa.int32()),
        pa.field("segment", pa.int64()),  # base offset; null: no segment
        pa.field("kind", pa.string(), nullable=False),  # of file, as in FILES
        pa.field("part", pa.string(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("occupied_bytes", pa.int64(), nullable=False),  # without holes of sparse files
        pa.field("uncompressed_bytes", pa.int64()),  # null: the part is never compressed
    ]
)

WHAT_IF: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("policy", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),  # bytes before
        pa.field("deleted_bytes", pa.int64(), nullable=False),
        pa.field("compacted_bytes", pa.int64(), nullable=False),
        pa.field("size_after", pa.int64(), nullable=False),
        pa.field("size_as_configured", pa.int64(), nullable=False),  # afterwards, unchanged
        pa.field("difference", pa.int64(), nullable=False),  # bytes that the change adds
        pa.field("is_config_known", pa.bool_(), nullable=False),  # otherwise Kafka's defaults
        pa.field("segments", pa.int64(), nullable=False),  # before
        pa.field("deleted_segments", pa.int64(), nullable=False),
        pa.field("dropped_records", pa.int64(), nullable=False),
        pa.field("log_start_offset", pa.int64(), nullable=False),  # afterwards
        pa.field("retention", pa.string(), nullable=False),  # why
        pa.field("cleaning", pa.string(), nullable=False),  # why; empty: not compacted
        pa.field("problem", pa.string(), nullable=False),
    ]
)

REPLICAS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("verdict", pa.string(), nullable=False),  # of the partition
        pa.field("broker", pa.string(), nullable=False),
        pa.field("is_ahead", pa.bool_(), nullable=False),
        pa.field("stop", pa.string(), nullable=False),  # clean, unclean, running, unknown
        pa.field("log_start_offset", pa.int64(), nullable=False),
        pa.field("log_end_offset", pa.int64(), nullable=False),
        pa.field("last_epoch", pa.int32()),
        pa.field("high_watermark", pa.int64()),  # checkpointed
        pa.field("restart_high_watermark", pa.int64(), nullable=False),
        pa.field("common_end", pa.int64(), nullable=False),  # with the replica ahead
        pa.field("truncates_to", pa.int64()),  # as a follower of the one ahead; null: is ahead
        pa.field("lost_as_leader", pa.int64(), nullable=False),  # committed offsets
        pa.field("divergence_offset", pa.int64()),  # of the partition
        pa.field("committed_at_least", pa.int64(), nullable=False),
        pa.field("committed_at_most", pa.int64(), nullable=False),
    ]
)

OFFSET_FATES: Final = table_schema(
    [
        pa.field("group", pa.string(), nullable=False),
        *_WHERE.values(),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("commit_time", TIMESTAMP, nullable=False),
        pa.field("expires_at", TIMESTAMP),  # null: never while the group is unchanged
        pa.field("rule", pa.string(), nullable=False),
        pa.field("is_gone", pa.bool_(), nullable=False),
        pa.field("removes_group", pa.bool_(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)

COMMITS: Final = table_schema(
    [
        pa.field("log", pa.string(), nullable=False),  # __consumer_offsets-12
        pa.field("log_offset", pa.int64(), nullable=False),
        pa.field("time", TIMESTAMP),
        pa.field("group", pa.string(), nullable=False),
        *_WHERE.values(),
        pa.field("offset", pa.int64()),  # null: a tombstone
        pa.field("leader_epoch", pa.int32()),
        pa.field("metadata", pa.string()),
        pa.field("commit_time", TIMESTAMP),
        pa.field("expire_time", TIMESTAMP),  # in the commit itself
        pa.field("producer_id", pa.int64()),  # of a transactional commit
        pa.field("fate", pa.string(), nullable=False),
        pa.field("ended_at", pa.int64()),  # offset of the record or marker that decided the fate
        pa.field("log_end_offset", pa.int64()),  # at commit_time; null: unknown, or not asked for
        pa.field("lag", pa.int64()),  # at commit_time
        pa.field(
            "lag_reason", pa.string()
        ),  # why it is unknown, or what it rests on; null: LogAppendTime
    ]
)

REBALANCES: Final = table_schema(
    [
        pa.field("log", pa.string(), nullable=False),  # __consumer_offsets-12
        pa.field("log_offset", pa.int64(), nullable=False),  # of the first record
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("time", TIMESTAMP),
        pa.field("group", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),  # classic, simple, consumer, share, streams
        pa.field("event", pa.string(), nullable=False),
        pa.field("state", pa.string()),  # null: unknown, compaction removed earlier records
        pa.field("generation", pa.int32()),  # the epoch for groups that are not classic
        pa.field("previous_generation", pa.int32()),
        pa.field("assignment_epoch", pa.int32()),  # null: a classic group
        pa.field("protocol", pa.string()),  # the assignor
        pa.field("leader", pa.string()),
        pa.field("members", pa.int32()),  # afterwards; null: unknown
        pa.field("joined", pa.list_(pa.string())),  # member ids; null: unknown
        pa.field("left", pa.list_(pa.string())),
        pa.field(
            "changes",  # members whose assignment or progress changed, as they are afterwards
            pa.list_(
                pa.struct(
                    [
                        pa.field("member_id", pa.string(), nullable=False),
                        pa.field("epoch", pa.int32()),  # null in a classic group, as the next
                        pa.field("state", pa.string()),
                        pa.field("assignment", pa.list_(pa.string())),  # null: unreadable
                        pa.field("target", pa.list_(pa.string())),
                        pa.field("revoking", pa.list_(pa.string())),
                    ]
                )
            ),
            nullable=False,
        ),
        pa.field("reason", pa.string()),  # null: the log does not show it
    ]
)

TRANSACTIONS: Final = table_schema(
    [
        pa.field("transactional_id", pa.string()),  # null: an open transaction without one
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("state", pa.string()),  # as an admin client names it
        pa.field("phase", pa.string(), nullable=False),  # empty, open, prepared, complete, hanging
        pa.field("partitions", pa.list_(pa.string()), nullable=False),
        pa.field("timeout_ms", pa.int32()),
        pa.field("start_time", TIMESTAMP),
        pa.field("last_update_time", TIMESTAMP),
        pa.field("times_out_at", TIMESTAMP),  # null: no transaction is ongoing
        pa.field("expires_at", TIMESTAMP),  # of the id; null: never while a transaction is open
        pa.field("previous_producer_id", pa.int64()),
        pa.field("next_producer_id", pa.int64()),
        pa.field("client_transaction_version", pa.int16()),
        pa.field("blocks", pa.list_(pa.string()), nullable=False),  # where it holds the LSO back
        pa.field("blocked_offsets", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("log_partition", pa.int32()),  # of __transaction_state
        pa.field("record_offset", pa.int64()),
    ]
)

OPEN_PRODUCERS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("first_offset", pa.int64(), nullable=False),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("first_time", TIMESTAMP),
        pa.field("last_time", TIMESTAMP),
        pa.field("transactional_id", pa.string()),
        pa.field("state", pa.string()),
        pa.field("verdict", pa.string()),  # waits, hangs; null: unknown
        pa.field("reason", pa.string(), nullable=False),
        pa.field("last_stable_offset", pa.int64(), nullable=False),
        pa.field("blocked_offsets", pa.int64(), nullable=False),  # 0: an older one holds the LSO
    ]
)

TRANSACTION_MARKERS: Final = table_schema(
    [
        *_WHERE.values(),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("time", TIMESTAMP),
        pa.field("type", pa.string(), nullable=False),  # COMMIT, ABORT
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("coordinator_epoch", pa.int32()),
        pa.field("transactional_id", pa.string()),  # that has the producer now
        pa.field("first_offset", pa.int64()),  # of its data since the previous marker; null: none
        pa.field("last_offset", pa.int64()),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("data_epoch", pa.int16()),
        pa.field("verdict", pa.string()),  # one of `marker_data.VERDICTS`; null: unknown
        pa.field("reason", pa.string(), nullable=False),
    ]
)

COORDINATOR_REPAIRS: Final = table_schema(
    [
        pa.field("step", pa.int32(), nullable=False),  # from 1: their order counts
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("action", pa.string(), nullable=False),  # append, marker, clean, remove
        pa.field("by", pa.string(), nullable=False),  # repair; broker: it does so when it starts
        pa.field("finding", pa.string(), nullable=False),  # the kind that it mends
        pa.field("subject", pa.string(), nullable=False),  # group, transactional id; "": the log
        pa.field("what", pa.string(), nullable=False),
        pa.field("offset", pa.int64()),  # of the damage
        pa.field("time", TIMESTAMP),  # of the record; null: when it is written
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int16()),
        pa.field("coordinator_epoch", pa.int32()),
        pa.field("key_size", pa.int32()),  # bytes; null: no record
        pa.field("value_size", pa.int32()),  # bytes; null: a tombstone, or no record
        pa.field("key", pa.binary()),  # null unless asked for
        pa.field("value", pa.binary()),
        pa.field("reason", pa.string(), nullable=False),
    ]
)

COORDINATOR_EXPLANATION: Final = table_schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("topic", pa.string()),  # null: the whole group
        pa.field("partition", pa.int32()),
        pa.field("verdict", pa.string(), nullable=False),  # allows, blocks, limits, unknown
        pa.field("value", pa.string()),
        pa.field("threshold", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("due", TIMESTAMP),
        pa.field("kafka", pa.string(), nullable=False),
    ]
)
