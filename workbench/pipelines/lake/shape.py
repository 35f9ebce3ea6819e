"""The columns of a table: as a scan gives them, in the types that every format of a lake has.

New fields of values become new fields of the table. A type of the table changes only where its
format widens it without touching its files; what does not fit is rescued.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import SchemaError
from workbench.loaders.scan.decoding import Applied
from workbench.loaders.scan.scan import Scan
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.pipelines.lake.data_files import FOLDERS, fits_a_folder, folders_of
from workbench.pipelines.lake.table import DELETES, KEY, Widens
from workbench.runtime.times import LAST_IN_MICROS
from workbench.spark_source.kinds import spark_kind
from workbench.values.far_times import texts_of
from workbench.values.fitting import as_text
from workbench.values.formats.json import json_decoder
from workbench.values.formats.pieces import FittingReader
from workbench.values.guard import ENTRIES, MOST_ENTRIES
from workbench.values.inference import Shape
from workbench.values.masking import Masks
from workbench.values.registry import ColumnDecoding, Decoding
from workbench.values.types import aligned, converted, is_held, mapped, merged, merged_by

DAY: Final = "day"
"""The column that is made of ``timestamp``: the day in UTC; null: the record has no timestamp, or
one before year 1 or after 9999, of which not every format can write the day."""

TOPIC_ID: Final = "topic_id"
"""The column with the id of the topic; null: the disk does not say it.

With partition and offset it identifies a record, even if a topic was deleted and made again."""

RESCUED: Final = "_rescued"
"""The column with what of a record could not be decoded: JSON of path, such as ``value.price``, →
text; null where a mask keeps it private."""

_OWN: Final = frozenset(
    each.casefold()
    for each in (*SCAN_FIELDS, DAY, TOPIC_ID, RESCUED, DELETES, *FOLDERS)
    if each != "bytes"  # it is younger than tables whose values have such a field
)

_LONGEST_FOLDER: Final = 100
"""Bytes of a column's name in folders, which leaves room for values."""

_WRITTEN_DAY: Final = re.compile("(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FIRST_DAY: Final = -719_162  # 0001-01-01, in days since 1970
_LAST_DAY: Final = 2_932_896  # 9999-12-31


def table_kind(kind: Any) -> Any:
    """Return the type that a table has for a type of a scan."""
    return spark_kind(kind.value_type if pa.types.is_dictionary(kind) else kind)


def schema_of_scan(scan: Scan, known: pa.Schema) -> pa.Schema:
    """Return the columns of a scan as those of a table, all nullable, with day and topic id.

    The fields of decoded keys and values become columns of their own, see `names_of_fields`. What
    cannot be decoded is in `RESCUED`.

    Args:
        scan: the scan.
        known: the columns of the table, and those that are declared.
    """
    of_scan = {each.name: pa.nulls(0, each.type) for each in scan.schema}
    columns = _columns(of_scan, None, known.names)
    fields = [(name, table_kind(array.type)) for name, array in columns.items()]
    return pa.schema([*fields, *([(RESCUED, pa.string())] if scan.decode else [])])


def names_of_fields(kinds: Mapping[str, Any], known: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the names of columns by column of the scan and field; no two differ in case alone.

    A field has its own name. One that every table has (``topic``, ``day``), or another field, gets
    ``key_`` or ``value_`` before it, and a number behind it where that is taken, too.

    Args:
        kinds: the structs, by ``key`` and ``value``.
        known: names that a table already has, which remain those of the same fields.
    """
    there = set(known)
    by_fold = {name.casefold() for name in there}
    taken: set[str] = set()
    found: dict[tuple[str, str], str] = {}

    def take(field: tuple[str, str], name: str) -> bool:
        folded = name.casefold()
        if folded in _OWN or folded in taken or (folded in by_fold and name not in there):
            return False
        taken.add(folded)
        found[field] = name
        return True

    fields = [(column, each.name) for column, kind in kinds.items() for each in kind]
    prefixed = {f"{column}_{own}" for column in ("key", "value") for own in _OWN}
    # Those that a table has come first: which field had a name must not depend on the order.
    fields.sort(key=lambda each: each[1] not in there)
    waiting = [each for each in fields if each[1].casefold() in prefixed or not take(each, each[1])]
    for column, name in waiting:
        names = chain([f"{column}_{name}"], (f"{column}_{name}_{n}" for n in count(2)))
        next(each for each in names if take((column, name), each))
    return found


def _columns(
    of_scan: dict[str, pa.Array], topic_id: str | None, known: Iterable[str]
) -> dict[str, pa.Array]:
    """Return the columns of a table that are made of those of a scan of one topic.

    Values of which none says a type yet do not make a column.
    """
    found = {
        name: array
        for name, array in of_scan.items()
        if not (_is_spread(name, array.type) or pa.types.is_null(array.type))
    }
    if "timestamp" in of_scan:
        found[DAY] = _days(of_scan["timestamp"])
    length = len(next(iter(of_scan.values())))
    found[TOPIC_ID] = pa.repeat(pa.scalar(topic_id, pa.string()), length)
    for (column, field), name in _names_of_spread(of_scan, known).items():
        array = of_scan[column]
        found[name] = pc.struct_field(array, array.type.get_field_index(field))
    return found


def _names_of_spread(
    of_scan: Mapping[str, pa.Array], known: Iterable[str]
) -> dict[tuple[str, str], str]:
    """Return `names_of_fields` of those columns of a scan whose fields become columns."""
    kinds = {name: array.type for name, array in of_scan.items() if _is_spread(name, array.type)}
    return names_of_fields(kinds, known)


def _is_spread(name: str, kind: Any) -> bool:
    return name in {"key", "value"} and pa.types.is_struct(kind)


def require_divisible(schema: pa.Schema, columns: Iterable[str], where: str) -> None:
    """Check that the files of a table can be divided by columns.

    Raises:
        SchemaError: a column does not exist, or its values are not names of folders; or a field has
            the name of the folders.
    """
    folded = {each.casefold() for each in schema.names}
    for name in columns:
        (folder,) = folders_of([name])
        if len(folder) > _LONGEST_FOLDER:
            raise SchemaError(f"{name[:40]}… is too long a name to divide {where} by")
        if name not in schema.names:
            raise SchemaError(
                f"no column {name} to divide {where} by (expected one of {', '.join(schema.names)})"
                "; if it is a field that later records have, declare its type"
            )
        kind = schema.field(name).type
        if not (
            pa.types.is_string(kind)
            or pa.types.is_integer(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_date(kind)
        ):
            raise SchemaError(
                f"{name} is {kind}, and cannot divide {where} (expected text, a whole number, true "
                "or false, or a date)"
            )
        if folder.casefold() in folded:
            raise SchemaError(f"{folder} is a field, and names the folders of {where}: mask it")


def undivided(array: pa.Array, name: str) -> tuple[pa.Array, dict[int, dict[str, str]]]:
    """Return the values of a column that can be names of folders; the others are null.

    Returns:
        The array, and row → path → text, as `fitted`.
    """
    (folder,) = folders_of([name])
    found = array.dictionary_encode()
    texts = texts_of(found.dictionary).to_pylist()
    is_day = pa.types.is_date(array.type)
    bad = [
        at
        for at, text in enumerate(texts)
        if not fits_a_folder(folder, text) or (is_day and not _WRITTEN_DAY.fullmatch(text))
    ]
    if not bad:
        return array, {}
    is_bad = pc.is_in(found.indices, pa.array(bad, found.indices.type))
    rows = np.flatnonzero(is_bad.to_numpy(zero_copy_only=False)).tolist()
    lost = {row: {"": texts[found.indices[row].as_py()]} for row in rows}
    return pc.if_else(is_bad, None, array), lost


def require_key(schema: pa.Schema, partition_by: Iterable[str], where: str) -> None:
    """Check that rows of a table can be replaced by their key.

    Raises:
        SchemaError: they have none.
    """
    if KEY[-1] in partition_by:
        raise SchemaError(f"an upsert identifies rows by key, which cannot divide {where}")
    if KEY[-1] not in schema.names:
        raise SchemaError(
            f"an upsert into {where} needs the column key (expected bytes, or a decoding to one "
            "value such as utf8)"
        )


def declared(
    there: pa.Schema | None, types: Iterable[pa.StructType], widens: Widens, where: str
) -> pa.Schema:
    """Return the columns of a table with those that are declared for fields of values.

    Args:
        there: the columns of the table; None: there is no table yet.
        types: the fields of the values of each topic.
        widens: see `Table.widens`.
        where: names the table in an error.

    Raises:
        SchemaError: a field has another type in the table, or in the declaration of another topic.
    """
    known = pa.schema([]) if there is None else there
    try:
        kind = table_kind(merged(types))
    except SchemaError as error:
        raise SchemaError(f"{error}; {{topic}} in the table's name gives each its own") from None
    if not pa.types.is_struct(kind):
        return known

    def choose(here: Any, new: Any, path: str) -> Any:
        if widens(here, new):
            return new
        if is_held(new, here):
            return here
        raise SchemaError(
            f"{path[1:]} is declared as {new} and is {here} in {where} (a table keeps its types); "
            "leave it out of the declaration, or load into another table"
        )

    names = names_of_fields({"value": kind}, known.names)
    fields = pa.struct([(names["value", each.name], each.type) for each in kind])
    return pa.schema(list(merged_by(choose, pa.struct(known), fields)))


def evolved(
    known: pa.Schema,
    found: pa.Schema,
    decode: Mapping[str, ColumnDecoding],
    widens: Widens,
    where: str,
) -> pa.Schema:
    """Return the columns of a table after records with other columns were added.

    A field keeps the type that it has in the table, unless the table's format widens it.

    Args:
        known: the columns of the table, and those that are declared; none: there is no table yet.
        found: the columns of the records.
        decode: how the records are decoded.
        widens: see `Table.widens`.
        where: names the table in an error.

    Raises:
        SchemaError: a column that is not a field of a value has another type.
    """
    inferred = {name for name, how in decode.items() if _infers(how)}

    def choose(here: Any, new: Any, path: str) -> Any:
        if widens(here, new):
            return new
        name = re.split(r"[.[]", path[1:])[0]
        is_rescued = name in inferred and not pa.types.is_binary(here)
        if name in SCAN_FIELDS and not (is_rescued or is_held(new, here)):
            raise SchemaError(
                f"{name} is {new} in these records and {here} in {where} (a table keeps its types);"
                f" decode {name} as the earlier runs did, or load into another table"
            )
        return here

    fields = list(merged_by(choose, pa.struct(known), pa.struct(found)))
    order = {name: at for at, name in enumerate(found.names)}
    if "offset" not in known.names:  # there is no table yet: what is declared is with the fields
        fields.sort(key=lambda each: order.get(each.name, len(order) - 1.5))
    return pa.schema([each.with_type(_distinct(each.type)) for each in fields])


def _infers(how: ColumnDecoding) -> bool:
    """Return whether a decoding takes the type of values from what they are."""
    formats = how.values() if isinstance(how, Mapping) else [how]
    return any(Decoding.of(each).name == "msgpack" for each in formats)


def _distinct(kind: Any) -> Any:
    """Return a type without fields whose names differ from an earlier one's in case alone.

    No reader that ignores case takes them; values have them in `RESCUED`.
    """
    if pa.types.is_struct(kind):
        fields: dict[str, pa.Field] = {}
        for each in kind:
            fields.setdefault(each.name.casefold(), each.with_type(_distinct(each.type)))
        return pa.struct(list(fields.values()))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_distinct(kind.value_type)))
    return pa.map_(kind.key_type, _distinct(kind.item_type)) if pa.types.is_map(kind) else kind


def shaped(
    raw: pa.RecordBatch,
    applied: Applied,
    topic_id: str | None,
    schema: pa.Schema,
    masks: Masks,
    *,
    partition_by: Iterable[str],
    upsert: bool,
) -> pa.RecordBatch:
    """Return a batch of a scan with the columns of a table; those that it lacks are null.

    What is of another type than the table's is null in that field, and rescued.

    Args:
        raw: the batch as it was read: a value that is null there is a tombstone.
        applied: the same decoded and masked.
        topic_id: of the topic that the records are of; None: it is unknown.
        schema: the columns of the table.
        masks: of the topic.
        partition_by: see `Table`; what cannot be the name of a folder is rescued, too.
        upsert: whether the column `DELETES` is added.
    """
    decoded = applied.batch
    of_scan = dict(zip(decoded.schema.names, decoded.columns, strict=True))
    there = _columns(of_scan, topic_id, schema.names)
    if RESCUED in schema.names:
        texts = [each.texts() for each in applied.lost]
        of_values: dict[str, tuple[str, str]] = {
            name: (name, name) for name in ("key", "value") if name in there
        }
        for (column, field), name in _names_of_spread(of_scan, schema.names).items():
            of_values[name] = column, f"{column}.{field}"
        for name, (column, path) in of_values.items():
            there[name], unfit = fitted(there[name], schema.field(name).type)
            if name in partition_by:
                there[name], more = undivided(there[name], name)
                unfit |= more
            texts.append(_texts(unfit, path, is_private=masks.touches(column)))
        there[RESCUED] = _rescued(texts, decoded.num_rows)
    batch = conformed(pa.RecordBatch.from_pydict(there), schema)
    return batch.append_column(DELETES, raw["value"].is_null()) if upsert else batch


def _texts(
    unfit: Mapping[int, Mapping[str, str]], at: str, *, is_private: bool
) -> dict[int, dict[str, str | None]]:
    """Return row → path → text of what does not fit at a path; None: a mask keeps it private."""

    def inside(path: str) -> str:
        return f"{at}.{path}" if path and not path.startswith("[") else f"{at}{path}"

    return {
        row: {inside(path): None if is_private else text for path, text in texts.items()}
        for row, texts in unfit.items()
    }


def _rescued(lost: Iterable[Mapping[int, Mapping[str, str | None]]], rows: int) -> pa.Array:
    """Return what of each row could not be decoded, as JSON: path → text; null: all could."""
    texts: list[str | None] = [None] * rows
    found: dict[int, dict[str, str | None]] = {}
    for each in lost:
        for row, paths in each.items():
            found.setdefault(row, {}).update(paths)
    for row, paths in found.items():
        texts[row] = json.dumps(paths, ensure_ascii=False)
    return pa.array(texts, pa.string())


def conformed(rows: Any, schema: pa.Schema) -> Any:
    """Return a batch or table with the columns of a schema; those that it lacks are null."""
    arrays = [
        _as_kind(rows[field.name], field.type)
        if field.name in rows.schema.names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return type(rows).from_arrays(arrays, schema=schema)


def fitted(array: Any, kind: Any) -> tuple[pa.Array, dict[int, dict[str, str]]]:
    """Return an array of a scan as a type of a table, and what does not fit, which is null.

    Returns:
        The array, and row → path → text.
    """
    array = _as_table(array)
    if is_held(array.type, kind):
        return aligned(array, kind), {}

    def load(value: Any) -> Any:
        ENTRIES.left = MOST_ENTRIES  # all are in memory already
        return value

    # A time may be beyond those of Python.
    texts = converted(array, mapped(array.type, _times_as_text))
    values = texts.to_pylist(maps_as_pydicts="lossy")
    reader = FittingReader(kind, "a value", load, _cast, names_all=True)
    found = reader.read(values)
    whole = {row: {"": as_text(values[row])} for row in reader.bad}
    return found, {row: each.texts for row, each in reader.unfit.items()} | whole


def _cast(value: Any, kind: Any) -> Any:
    return pa.scalar(value).cast(kind).as_py()


def _times_as_text(kind: Any) -> Any:
    return pa.string() if pa.types.is_temporal(kind) else kind


def _as_kind(array: Any, kind: Any) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, array.type)
    return aligned(_as_table(array), kind)


def _as_table(array: Any) -> pa.Array:
    """Return an array as the type that `table_kind` names."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return converted(array, table_kind(array.type))


def untimed(times: pa.Array) -> int:
    """Return how many times in ms are beyond those that a table holds in microseconds."""
    stamps = times.cast(pa.int64())
    is_beyond = pc.or_(pc.less(stamps, -LAST_IN_MICROS), pc.greater(stamps, LAST_IN_MICROS))
    return int(is_beyond.true_count)


def _days(times: pa.Array) -> pa.Array:
    days = pc.divide(pc.floor_temporal(times, unit="day").cast(pa.int64()), 86_400_000)
    is_written = pc.and_(pc.greater_equal(days, _FIRST_DAY), pc.less_equal(days, _LAST_DAY))
    return pc.if_else(is_written, days, None).cast(pa.int32()).cast(pa.date32())


def with_every_field(
    decode: Mapping[str, ColumnDecoding],
    shape_of: Callable[[str], Shape],
    known: pa.Schema,
    masks: Masks,
) -> dict[str, ColumnDecoding]:
    """Return decodings in which JSON has every field that one of the records has.

    Fields that the table has keep its types: what does not fit them is rescued.

    Args:
        decode: decodings by column; one that has a format for each topic stays as it is.
        shape_of: returns what is seen in all JSON of a column, see `json_shape`.
        known: the columns of the table, and those that are declared.
        masks: the rules of the scan.

    Raises:
        SchemaError: there are too many fields.
    """
    inferred = [
        name
        for name, how in decode.items()
        if not isinstance(how, Mapping) and Decoding.of(how) == Decoding("json")
    ]
    kinds = {name: _struct(shape_of(name).kind()) for name in inferred}
    names = names_of_fields(kinds, known.names)
    for name, kind in kinds.items():
        there = {field.name: names[name, field.name] for field in kind}
        # A mask of a field that none of the new records has is not a mistake.
        there |= {each: each for each in _masked_fields(name, masks) if each not in there}
        own = [(f, known.field(c).type) for f, c in there.items() if c in known.names]
        kinds[name] = merged_by(lambda _new, here, _path: here, kind, pa.struct(own))
    return dict(decode) | {
        name: Decoding("json", json_decoder(kind, pa.string() if masks.touches(name) else None))
        for name, kind in kinds.items()
    }


def _struct(kind: pa.DataType) -> Any:
    return kind if pa.types.is_struct(kind) else pa.struct([])


def _masked_fields(name: str, masks: Masks) -> Iterator[str]:
    for rule in masks.rules:
        column, _, path = rule.path.partition(".")
        if column == name and path:
            yield path.partition(".")[0]
