"""The columns that Spark sees: those of its own Kafka source, and ours beside them.

Spark accepts an Arrow batch only if names, order, types and nullability are those of the schema:
plain binary and string, `timestamp[us, UTC]`, everything nullable. A missing value is null: a
record without a timestamp has null, while Spark's source shows the last ms of 1969.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from workbench.inspection.findings import Finding
from workbench.loaders.scan import arrow
from workbench.runtime.times import LAST_IN_MICROS
from workbench.values.types import converted

_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_HEADERS: Final = pa.list_(
    pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
)
_DAMAGE: Final = pa.struct(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("position", pa.int64()),
        ("found", pa.string()),
        ("expected", pa.string()),
    ]
)
DAMAGE_COLUMN: Final = "damage"


def _same(column: pa.Array) -> pa.Array:
    return column


def _binary(column: pa.Array) -> pa.Array:
    return column.cast(pa.binary())


def _timestamp(column: pa.Array) -> pa.Array:
    """Return ms as us; null where that is beyond 64 bits."""
    try:
        return column.cast(_TIMESTAMP)
    except pa.ArrowInvalid:
        milliseconds = column.cast(pa.int64())
        fits = pc.and_(
            pc.less_equal(milliseconds, LAST_IN_MICROS),
            pc.greater_equal(milliseconds, -LAST_IN_MICROS),
        )
        return pc.if_else(fits, column, None).cast(_TIMESTAMP)


def _timestamp_type(words: pa.Array) -> pa.Array:
    """Return 0 for CreateTime, 1 for LogAppendTime, -1 for none, as Kafka numbers them."""
    return pc.equal(words, "LogAppendTime").cast(pa.int32()).fill_null(-1)


def _headers(lists: Any) -> pa.Array:
    """Return headers as Spark's source gives them: null, not an empty list, without any."""
    offsets, items = lists.offsets, lists.values
    pairs = pa.StructArray.from_arrays(
        [items.field("key"), items.field("value").cast(pa.binary())],
        fields=list(_HEADERS.value_type),
    )
    has_any = np.diff(np.asarray(offsets)) > 0
    return pa.ListArray.from_arrays(offsets, pairs, type=_HEADERS, mask=arrow.booleans(~has_any))


class SourceColumn(NamedTuple):
    """A column of the source.

    Attributes:
        scan_name: the column of a scan that it comes from.
        kind: its type in Spark.
        arrow_type: its type in the batches.
        convert: makes it of the scan's.
    """

    scan_name: str
    kind: DataType
    arrow_type: pa.DataType
    convert: Callable[[Any], pa.Array] = _same


KAFKA_COLUMNS: Final = {
    "key": SourceColumn("key", BinaryType(), pa.binary(), _binary),
    "value": SourceColumn("value", BinaryType(), pa.binary(), _binary),
    "topic": SourceColumn("topic", StringType(), pa.string()),
    "partition": SourceColumn("partition", IntegerType(), pa.int32()),
    "offset": SourceColumn("offset", LongType(), pa.int64()),
    "timestamp": SourceColumn("timestamp", TimestampType(), _TIMESTAMP, _timestamp),
    "timestampType": SourceColumn("timestamp_type", IntegerType(), pa.int32(), _timestamp_type),
}
"""What Spark's Kafka source has, in its order."""

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
HEADER_COLUMNS: Final = {"headers": SourceColumn("headers", ArrayType(_HEADER), _HEADERS, _headers)}

METADATA_COLUMNS: Final = {
    "producerId": SourceColumn("producer_id", LongType(), pa.int64()),
    "producerEpoch": SourceColumn("producer_epoch", ShortType(), pa.int16()),
    "sequence": SourceColumn("sequence", IntegerType(), pa.int32()),
    "leaderEpoch": SourceColumn("partition_leader_epoch", IntegerType(), pa.int32()),
    "codec": SourceColumn("codec", StringType(), pa.string()),
    "isTransactional": SourceColumn("is_transactional", BooleanType(), pa.bool_()),
    "isControl": SourceColumn("is_control", BooleanType(), pa.bool_()),
    "segment": SourceColumn("segment", LongType(), pa.int64()),
    "batchPosition": SourceColumn("batch_position", LongType(), pa.int64()),
}
"""The batch's own fields, and its position: base offset of the segment, byte in its file."""

ALL_COLUMNS: Final = KAFKA_COLUMNS | HEADER_COLUMNS | METADATA_COLUMNS

_DAMAGE_KIND: Final = StructType(
    [
        StructField("kind", StringType()),
        StructField("path", StringType()),
        StructField("position", LongType()),
        StructField("found", StringType()),
        StructField("expected", StringType()),
    ]
)


Kinds = Mapping[str, pa.DataType]
"""Types in Spark's batches of columns that are decoded or masked, by name."""

NO_KINDS: Final[Kinds] = MappingProxyType({})


def spark_type(name: str, kinds: Kinds = NO_KINDS) -> DataType:
    """Return the type of a column in Spark."""
    if name in kinds:
        return from_arrow_type(kinds[name])
    return _DAMAGE_KIND if name == DAMAGE_COLUMN else ALL_COLUMNS[name].kind


def spark_schema(names: Iterable[str], kinds: Kinds = NO_KINDS) -> StructType:
    """Return the schema of columns, all of them nullable."""
    return StructType([StructField(name, spark_type(name, kinds)) for name in names])


def arrow_schema(names: Iterable[str], kinds: Kinds = NO_KINDS) -> pa.Schema:
    """Return the schema of the batches that Spark takes for columns."""
    own = {name: column.arrow_type for name, column in ALL_COLUMNS.items()}
    types = {**own, DAMAGE_COLUMN: _DAMAGE, **kinds}
    return pa.schema([(name, types[name]) for name in names])


def to_spark(batch: pa.RecordBatch, schema: pa.Schema, kinds: Kinds = NO_KINDS) -> pa.RecordBatch:
    """Return a scan's batch as Spark takes it.

    Args:
        batch: the batch, with the columns of a scan that ``schema`` needs.
        schema: the schema of the result, by `arrow_schema`.
        kinds: the types of the columns that are decoded or masked.
    """
    arrays = []
    for field in schema:
        if field.name == DAMAGE_COLUMN:
            arrays.append(pa.nulls(batch.num_rows, _DAMAGE))
        elif field.name in kinds:
            arrays.append(converted(batch.column(field.name), field.type))
        else:
            column = ALL_COLUMNS[field.name]
            arrays.append(column.convert(batch.column(column.scan_name)))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def damage_rows(
    findings: list[Finding], where: tuple[str, int], schema: pa.Schema
) -> pa.RecordBatch:
    """Return a row for each finding: its position and problem, with the record's columns null.

    Args:
        findings: the findings about what could not be read.
        where: topic and partition.
        schema: the schema of the result, by `arrow_schema`.
    """
    count = len(findings)
    known = {
        "topic": arrow.strings([where[0]] * count),
        "partition": pa.array([where[1]] * count, pa.int32()),
        "offset": pa.array([finding.offset for finding in findings], pa.int64()),
        DAMAGE_COLUMN: pa.StructArray.from_arrays(
            [_of_findings(findings, field) for field in _DAMAGE], fields=list(_DAMAGE)
        ),
    }
    arrays = [known.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _of_findings(findings: list[Finding], field: pa.Field) -> pa.Array:
    """Return one field of findings; bytes of a path that are not UTF-8 are replaced."""
    values = [getattr(finding, field.name) for finding in findings]
    return arrow.strings(values) if field.type == pa.string() else pa.array(values, field.type)
