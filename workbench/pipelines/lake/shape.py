"""The columns of a table: as a scan gives them, in the types that every format of a lake has.

New fields of values become new fields of the table; a type of the table never changes.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import SchemaError
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.pipelines.lake.table import DELETES, KEY
from workbench.spark_source.kinds import as_spark, spark_kind
from workbench.values.formats.json import inferred_kind, merged_kind, readable_schema
from workbench.values.masking import Masks
from workbench.values.registry import AnyDecoding, Decoding
from workbench.values.types import aligned, merged, merged_by

DAY: Final = "day"
"""The column that is made of ``timestamp``: the day in UTC; null: the record has no timestamp, or
one before year 1 or after 9999, of which not every format can write the day."""

TOPIC_ID: Final = "topic_id"
"""The column with the id of the topic; null: the disk does not say it.

With partition and offset it identifies a record, even if a topic was deleted and made again."""

_FIRST_DAY: Final = -719_162  # 0001-01-01, in days since 1970
_LAST_DAY: Final = 2_932_896  # 9999-12-31

_SAMPLED: Final = 4096  # values whose JSON is looked at together


def table_kind(kind: Any) -> Any:
    """Return the type that a table has for a type of a scan."""
    return spark_kind(kind.value_type if pa.types.is_dictionary(kind) else kind)


def schema_of_scan(scan: Scan) -> pa.Schema:
    """Return the columns of a scan as those of a table, all nullable, with day and topic id.

    The fields of decoded keys and values become columns of their own, by their names; one that the
    table has already gets ``value_`` or ``key_`` before it.
    """
    columns = _columns({each.name: pa.nulls(0, each.type) for each in scan.schema}, None)
    return pa.schema([(name, table_kind(array.type)) for name, array in columns.items()])


def _columns(of_scan: dict[str, pa.Array], topic_id: str | None) -> dict[str, pa.Array]:
    """Return the columns of a table that are made of those of a scan of one topic."""
    found = {name: array for name, array in of_scan.items() if not _is_spread(name, array.type)}
    if "timestamp" in of_scan:
        found[DAY] = _days(of_scan["timestamp"])
    length = len(next(iter(of_scan.values())))
    found[TOPIC_ID] = pa.repeat(pa.scalar(topic_id, pa.string()), length)
    for name, array in of_scan.items():
        if _is_spread(name, array.type):
            for field, inner in zip(array.type, array.flatten(), strict=True):
                is_taken = field.name in SCAN_FIELDS or field.name in found
                found[f"{name}_{field.name}" if is_taken else field.name] = inner
    return found


def _is_spread(name: str, kind: Any) -> bool:
    return name in {"key", "value"} and pa.types.is_struct(kind)


def require_key(schema: pa.Schema, where: str) -> None:
    """Check that rows of a table can be replaced by their key.

    Raises:
        SchemaError: they have none.
    """
    if KEY[-1] not in schema.names:
        raise SchemaError(
            f"an upsert into {where} needs the column key (expected bytes, or a decoding to one "
            "value such as utf8)"
        )


def evolved(there: pa.Schema | None, found: pa.Schema, where: str) -> pa.Schema:
    """Return the columns of a table after records with other columns were added.

    Args:
        there: the columns of the table; None: there is no table yet.
        found: the columns of the records.
        where: names the table in an error.

    Raises:
        SchemaError: a column has values that its type in the table does not hold.
    """
    if there is None:
        return found
    fields = merged_by(partial(_unchanged, where), pa.struct(there), pa.struct(found))
    return pa.schema(fields)


def _unchanged(where: str, here: Any, new: Any, path: str) -> Any:
    """Return the type that a table has, if it holds the values of another one."""
    try:
        if merged((here, new)) == here:
            return here
    except SchemaError:
        pass
    raise SchemaError(
        f"{path[1:]} is {new} in these records and {here} in {where} (a table's types do not "
        "change); give its type in decode, or load into another table"
    )


def shaped(
    raw: pa.RecordBatch,
    decoded: pa.RecordBatch,
    topic_id: str | None,
    schema: pa.Schema,
    *,
    upsert: bool,
) -> pa.RecordBatch:
    """Return a batch of a scan with the columns of a table; those that it lacks are null.

    Args:
        raw: the batch as it was read: a value that is null there is a tombstone.
        decoded: the same decoded and masked.
        topic_id: of the topic that the records are of; None: it is unknown.
        schema: the columns of the table.
        upsert: whether the column `DELETES` is added.
    """
    there = _columns(dict(zip(decoded.schema.names, decoded.columns, strict=True)), topic_id)
    batch = conformed(pa.RecordBatch.from_pydict(there), schema)
    return batch.append_column(DELETES, raw["value"].is_null()) if upsert else batch


def conformed(rows: Any, schema: pa.Schema) -> Any:
    """Return a batch or table with the columns of a schema; those that it lacks are null."""
    arrays = [
        _as_kind(rows[field.name], field.type)
        if field.name in rows.schema.names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return type(rows).from_arrays(arrays, schema=schema)


def _as_kind(array: Any, kind: Any) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return aligned(as_spark(array, table_kind(array.type)), kind)


def _days(times: pa.Array) -> pa.Array:
    days = pc.divide(pc.floor_temporal(times, unit="day").cast(pa.int64()), 86_400_000)
    is_written = pc.and_(pc.greater_equal(days, _FIRST_DAY), pc.less_equal(days, _LAST_DAY))
    return pc.if_else(is_written, days, None).cast(pa.int32()).cast(pa.date32())


def json_kind(values: Iterator[pa.Array]) -> Any:
    """Return the type that holds the JSON of all values.

    Raises:
        SchemaError: a field has two types that no type holds.
    """
    kind = pa.null()
    for array in values:
        for first in range(0, len(array), _SAMPLED):
            part = array.slice(first, _SAMPLED).to_pylist()
            kind = merged_kind(kind, inferred_kind(part))
    return kind


def with_every_field(
    decode: Mapping[str, AnyDecoding],
    kind_of: Callable[[str], Any],
    known: pa.Schema | None,
    masks: Masks,
) -> dict[str, AnyDecoding]:
    """Return decodings in which JSON has every field that one of the records has.

    The values of columns that are JSON without a type are read once more for that: a scan alone
    takes the fields of its first records.

    Args:
        decode: decodings by column.
        kind_of: returns the type that all JSON of a column has, see `json_kind`.
        known: the columns of the table; None: there is no table yet.
        masks: the rules of the scan.

    Raises:
        SchemaError: a field has two types in the records that no type holds.
    """
    found = dict(decode)
    for name, how in decode.items():
        if Decoding.of(how) == Decoding("json"):
            kind = kind_of(name)
            if known is not None:
                kind = merged_by(_fraction, kind, _spread_kind(name, kind, known, masks))
            found[name] = readable_schema(kind)
    return found


def _spread_kind(name: str, kind: Any, known: pa.Schema, masks: Masks) -> pa.DataType:
    """Return those columns of a table that are fields of a column: its own, and masked ones.

    A mask of a field that none of the new records has is not a mistake.
    """
    masked = [rule.path.split(".") for rule in masks.rules]
    names = {field.name for field in kind} if pa.types.is_struct(kind) else set()
    names |= {path[1] for path in masked if path[0] == name and len(path) > 1}
    own = set(known.names) - {*SCAN_FIELDS, DAY, TOPIC_ID}
    return pa.struct([(each, known.field(each).type) for each in sorted(names & own)])


def _fraction(kind: Any, there: Any, _path: str) -> Any:
    """Return the type of JSON, or fractions where a table has them."""
    return there if (kind, there) == (pa.int64(), pa.float64()) else kind
