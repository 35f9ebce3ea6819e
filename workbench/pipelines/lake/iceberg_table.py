"""A table of Iceberg, written by package `pyiceberg`; no connector of Spark is needed.

Positions are properties of the table, which a commit changes together with its snapshot. Unlike a
snapshot's own properties, they remain when old snapshots expire or others write.
"""

import secrets
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.pipelines.lake.data_files import (
    FOLDERS,
    PARTITIONED_BY,
    DataFile,
    Staging,
    folders_of,
)
from workbench.pipelines.lake.table import (
    DELETES,
    KEY,
    LoadedUpTo,
    Positions,
    are_of,
    of_topic,
    schema_of_upsert,
    written_meanwhile,
)
from workbench.runtime.clock import SystemClock
from workbench.runtime.extras import optional
from workbench.runtime.times import EPOCH
from workbench.runtime.words import plural

_PROPERTY: Final = "kafka-log-workbench"
_RETRIES: Final = "commit.retry.num-retries"
_FILE_BYTES: Final = "write.target-file-size-bytes"
_MOST_AGE: Final = "history.expire.max-snapshot-age-ms"
_MOST_AGE_MS: Final = 432_000_000  # 5 days, Iceberg's default


@dataclass
class IcebergTable:
    """A table of a catalog.

    Attributes:
        name: its identifier, as ``lake.orders``.
        options: properties of the catalog; ``name`` is its name in ``.pyiceberg.yaml``.
        partition_by, file_bytes: see `Table`.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    file_bytes: int | None = None

    def __post_init__(self) -> None:
        catalogs = optional("pyiceberg.catalog", "pyiceberg")
        given = dict(self.options)
        self._catalog = catalogs.load_catalog(given.pop("name", None), **given)
        self._open()

    def _open(self) -> None:
        """Take the newest snapshot; a commit fails if another one came after it."""
        self._table: Any = None
        if self._catalog.table_exists(self.name):
            table = self._catalog.load_table(self.name)
            # pyiceberg would append once more what another process has just appended.
            properties = {**table.metadata.properties, _RETRIES: "0"}
            table.metadata = table.metadata.model_copy(update={"properties": properties})
            self._table = table
            names = map(table.schema().find_column_name, (e.source_id for e in table.spec().fields))
            self.partition_by = tuple(each for each in names if each not in PARTITIONED_BY)

    @property
    def schema(self) -> pa.Schema | None:
        """See `Table.schema`."""
        if self._table is None:
            return None
        return pa.schema(
            [(each.name, _plain(each.type)) for each in self._table.schema().as_arrow()]
        )

    def widens(self, here: pa.DataType, new: pa.DataType) -> bool:
        """See `Table.widens`.

        Iceberg: Schema Evolution, type promotion (specification)
        """
        if pa.types.is_decimal(here) and pa.types.is_decimal(new):
            return bool(here.scale == new.scale and here.precision < new.precision)
        return (here, new) in {(pa.int32(), pa.int64()), (pa.float32(), pa.float64())}

    def positions(self, logs: Positions) -> Positions:
        """See `Table.positions`."""
        properties = {} if self._table is None else self._table.metadata.properties
        found = {}
        for log, now in logs.items():
            text = properties.get(_property(*log))
            if text is not None:
                offset, _, topic_id = text.partition(" ")
                last = LoadedUpTo(int(offset), topic_id or None)
                known = properties.get(_property_of_topic(*log, now.topic_id))
                found[log] = of_topic(now.topic_id, last, None if known is None else int(known))
        return found

    def commit(
        self,
        batches: Iterator[pa.RecordBatch],
        schema: pa.Schema,
        moved: Positions,
        *,
        upsert: bool,
    ) -> None:
        """See `Table.commit`."""
        staging = self.staging(schema)
        if not upsert:
            self.publish(staging, staging.write(batches), moved)
            return
        rows = pa.Table.from_batches(batches, schema_of_upsert(schema))
        kept = rows.filter(pc.invert(rows[DELETES])).drop_columns([DELETES])
        added = staging.write(iter(kept.to_batches()))
        self._publish(staging, added, moved, list(_conditions(rows)))

    def staging(self, schema: pa.Schema) -> Staging:
        """See `Table.staging`; files have the ids that columns get by the commit."""
        of = optional("pyiceberg.io.pyarrow", "pyiceberg")
        if self._table is None:
            self._create(schema)
        transaction = self._table.transaction()  # is not committed
        with transaction.update_schema() as update:
            update.union_by_name(schema)
        fields = transaction.table_metadata.schema().as_arrow()
        io = self._table.io
        if not isinstance(io, of.PyArrowFileIO):
            io = of.PyArrowFileIO(io.properties)
        scheme, host, folder = io.parse_location(self._data)
        return Staging(
            io.fs_by_scheme(scheme, host),
            folder,
            secrets.token_hex(8),
            pa.schema([field.with_type(_plain(field.type)) for field in fields]),
            columns=(*PARTITIONED_BY, *self.partition_by),
            folders=(*FOLDERS, *folders_of(self.partition_by)),
            file_bytes=self.file_bytes,
        )

    def publish(self, staging: Staging, added: Sequence[DataFile], moved: Positions) -> None:
        """See `Table.publish`."""
        self._publish(staging, added, moved, [])

    def _publish(
        self, staging: Staging, added: Sequence[DataFile], moved: Positions, gone: list[Any]
    ) -> None:
        with self._transaction(staging.schema, moved) as transaction:
            _count_only(transaction, _beyond_dates(added))
            # That a key is new is not a reason for a warning.
            warnings.filterwarnings("ignore", "Delete operation did not match")
            for condition in gone:
                transaction.delete(condition)
            if added:  # `append` of pyiceberg takes all rows at once, and null lists for empty ones
                paths = [f"{self._data}/{each.path}" for each in added]
                transaction.add_files(paths, check_duplicate_files=False)

    @property
    def _data(self) -> str:
        """The location of the data files."""
        metadata = self._table.metadata
        place: str = metadata.properties.get("write.data.path", f"{metadata.location}/data")
        return place.rstrip("/")

    @contextmanager
    def _transaction(self, schema: pa.Schema, moved: Positions) -> Iterator[Any]:
        """Yield a transaction that adds columns and moves positions; it is committed at the end."""
        properties = {}
        for log, at in moved.items():
            properties[_property(*log)] = f"{at[0]} {at[1] or ''}".strip()
            if at.topic_id is not None:
                properties[_property_of_topic(*log, at.topic_id)] = str(at.next_offset)
        with (
            self._refuses_others(),
            warnings.catch_warnings(),
            self._table.transaction() as transaction,
        ):
            with transaction.update_schema() as update:
                update.union_by_name(schema)
            transaction.set_properties(properties)
            yield transaction

    def optimize(self) -> str:
        """See `Table.optimize`: snapshots expire; pyiceberg neither joins nor deletes files."""
        age = int(self._table.metadata.properties.get(_MOST_AGE, _MOST_AGE_MS))
        before = EPOCH + timedelta(milliseconds=SystemClock().now() - age)
        count = len(self._table.snapshots())
        with self._refuses_others():
            self._table.maintenance.expire_snapshots().older_than(before).commit()
        return (
            f"{self.name}: {plural(count - len(self._table.snapshots()), 'old snapshot')} expired; "
            "its files are joined and deleted by Spark: CALL "
            f"CATALOG.system.rewrite_data_files('{self.name}'), then expire_snapshots"
        )

    @contextmanager
    def _refuses_others(self) -> Iterator[None]:
        """Commit what the body commits, unless somebody else has written meanwhile.

        Raises:
            OutputError: somebody has.
        """
        of = optional("pyiceberg.exceptions", "pyiceberg")
        others = of.CommitFailedException, of.ValidationException, of.TableAlreadyExistsError
        try:
            yield
        except others as error:
            raise written_meanwhile(self.name, error) from error
        self._open()

    def _create(self, schema: pa.Schema) -> None:
        """Create the table, empty."""
        namespace = self.name.rpartition(".")[0]
        self._catalog.create_namespace_if_not_exists(namespace)
        properties = {} if self.file_bytes is None else {_FILE_BYTES: str(self.file_bytes)}
        with self._refuses_others():
            created = self._catalog.create_table_transaction(
                self.name, schema=schema, properties=properties
            )
            with created as transaction, transaction.update_spec() as spec:
                for name in (*PARTITIONED_BY, *self.partition_by):
                    spec.add_identity(name)


def _count_only(transaction: Any, names: Iterable[str]) -> None:
    """Let manifests not have the smallest and largest value of columns.

    Iceberg: write.metadata.metrics.column (configuration)
    """
    properties = {f"write.metadata.metrics.column.{name}": "counts" for name in names}
    if properties:
        transaction.set_properties(properties)


def _beyond_dates(added: Sequence[DataFile]) -> set[str]:
    """Return the columns with times after year 9999, which pyiceberg cannot read in a footer.

    Some producers write microseconds where Kafka has milliseconds.
    """
    found = set()
    for file in added:
        for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                try:
                    _ = column.statistics and (column.statistics.min, column.statistics.max)
                except (OverflowError, ValueError):
                    found.add(column.path_in_schema.replace(".list.", "."))
    return found


def _conditions(rows: pa.Table) -> Iterator[Any]:
    """Yield what meets the rows of a table that have the keys of new ones, by partition."""
    of = optional("pyiceberg.expressions", "pyiceberg")
    topic, partition, key = KEY
    for log in (
        rows.select([topic, partition]).group_by([topic, partition]).aggregate([]).to_pylist()
    ):
        keys = rows.filter(are_of((log[topic], log[partition]), rows))[key].to_pylist()
        yield of.And(
            of.EqualTo(topic, log[topic]),
            of.EqualTo(partition, log[partition]),
            of.In(key, keys),
        )


def _property(topic: str, partition: int) -> str:
    """Return the name of the property with the last position of a log."""
    return f"{_PROPERTY}.{topic}-{partition}"


def _property_of_topic(topic: str, partition: int, topic_id: str | None) -> str:
    """Return the name of the property with the position in the topic of an id."""
    return f"{_property(topic, partition)}/{topic_id}"


def _plain(kind: Any) -> Any:
    """Return a type of pyiceberg as `shape` has it: without large variants, with ids of fields."""

    def plain(field: Any) -> Any:
        return field.with_type(_plain(field.type))

    if pa.types.is_struct(kind):
        return pa.struct([plain(field) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(plain(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_field), plain(kind.item_field))
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind
