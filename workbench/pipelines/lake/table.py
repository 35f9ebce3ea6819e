"""What all formats of tables have in common: they keep with the data up to where it was loaded."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import OutputError
from workbench.pipelines.lake.data_files import DataFile, Staging
from workbench.runtime.words import plural

KEY: Final = ("topic", "partition", "key")
"""The columns that identify the row that an upsert replaces."""

DELETES: Final = "_deletes"
"""A column beside those of the table in the batches of an upsert: whether a record deletes the row
of its key."""


Widens = Callable[[Any, Any], bool]
"""See `Table.widens`."""


class LoadedUpTo(NamedTuple):
    """Up to where a partition was loaded.

    Attributes:
        next_offset: the first offset that was not.
        topic_id: of the topic that it was loaded from, as Kafka writes it; None: it was unknown.
    """

    next_offset: int
    topic_id: str | None


Log = tuple[str, int]
"""Topic and partition."""

Positions = Mapping[Log, LoadedUpTo]
"""Log → up to where it was loaded."""


def of_topic(topic_id: str | None, last: LoadedUpTo, next_offset: int | None) -> LoadedUpTo:
    """Return up to where the topic of an id was loaded.

    A topic that is deleted and made again has another id, and offsets from 0 on. A broker that was
    down meanwhile still has the topic of before.

    Args:
        topic_id: of the topic that is read; None: it is unknown.
        last: what was loaded last from a topic of its name.
        next_offset: what the table keeps for the topic of that id; None: it was not loaded.

    Returns:
        ``last``, with its own id, if nothing was loaded from the topic that is read.
    """
    if next_offset is None or topic_id is None or last.topic_id in {None, topic_id}:
        return last
    return LoadedUpTo(next_offset, topic_id)


def log_of(batch: pa.RecordBatch) -> Log:
    """Return the log that the rows of a batch are of."""
    return batch["topic"][0].as_py(), batch["partition"][0].as_py()


def by_log(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches, each of one topic, with each batch of one log."""
    for batch in batches:
        for partition in pc.unique(batch["partition"]):
            yield batch.filter(pc.equal(batch["partition"], partition))


def are_of(log: Log, rows: pa.Table) -> Any:
    """Return which rows are of a log."""
    topic, partition = log
    return pc.and_(pc.equal(rows["topic"], topic), pc.equal(rows["partition"], partition))


def schema_of_upsert(schema: pa.Schema) -> pa.Schema:
    """Return the columns of an upsert's batches: those of the table, and `DELETES`."""
    return schema.append(pa.field(DELETES, pa.bool_()))


def written_meanwhile(table: str, why: object) -> OutputError:
    """Return the error of a commit that met another one."""
    return OutputError(table, f"another process has written to it meanwhile ({why}); run it again")


def joined_text(table: str, before: int, after: int) -> str:
    """Return the beginning of what `Table.optimize` has done."""
    return f"{table}: {plural(before, 'small file')} joined into {after}"


class Table(Protocol):
    """A table in one of the formats.

    A commit adds records and moves positions, both or neither, whatever moment the process dies at.
    Of two processes that write at a time, one fails.
    """

    @property
    def name(self) -> str:
        """The path, URI or identifier that a user knows it by."""
        ...

    @property
    def schema(self) -> pa.Schema | None:
        """The columns that it has; None: there is no table yet."""
        ...

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns that its files are divided by, besides topic and day."""
        ...

    @property
    def file_bytes(self) -> int | None:
        """About how large its files become; None: as large as a commit makes them."""
        ...

    def widens(self, here: pa.DataType, new: pa.DataType) -> bool:
        """Return whether a column of one type becomes one of another, and its files are read on."""
        ...

    def positions(self, logs: Positions) -> Positions:
        """Return up to where logs were loaded, of those that were, as `of_topic` says.

        Args:
            logs: the logs that are read, with their topic ids.
        """
        ...

    def commit(
        self,
        batches: Iterator[pa.RecordBatch],
        schema: pa.Schema,
        moved: Positions,
        *,
        upsert: bool,
    ) -> None:
        """Add records, and move the positions.

        Args:
            batches: the records; an error that it raises leaves the table as it was.
            schema: the columns of the table, and new ones.
            moved: the positions that this commit moves.
            upsert: whether a record replaces the row of its `KEY`, or deletes it; the batches then
                have each key once, and the column `DELETES`. Otherwise all are added.

        Raises:
            OutputError: another process has written meanwhile.
            OSError: the table cannot be written.
        """
        ...

    def staging(self, schema: pa.Schema) -> Staging:
        """Return where tasks write the files of the next commit.

        Args:
            schema: see `commit`.

        Raises:
            OutputError: another process has made the table meanwhile.
        """
        ...

    def publish(self, staging: Staging, added: Sequence[DataFile], moved: Positions) -> None:
        """Commit files that were written: add their rows, and move the positions.

        What else was written to ``staging`` never becomes part of the table.

        Args:
            staging: where they are.
            added: the files.
            moved: see `commit`.

        Raises:
            OutputError: another process has written meanwhile.
            OSError: the table cannot be written.
        """
        ...

    def optimize(self) -> str:
        """Join small files and delete what is old; positions remain.

        Returns:
            A sentence of what was done, and of what the tool of the format does.

        Raises:
            OutputError: another process has written meanwhile.
            OSError: the table cannot be written.
        """
        ...
