"""What all formats of tables have in common: they keep with the data up to where it was loaded."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

import pyarrow as pa

PARTITIONED_BY: Final = ("topic", "day")
"""The columns that a table's files are divided by."""

KEY: Final = ("topic", "partition", "key")
"""The columns that identify the row that an upsert replaces."""

DELETES: Final = "_deletes"
"""A column beside those of the table in the batches of an upsert: whether a record deletes the row
of its key."""


class LoadedUpTo(NamedTuple):
    """Up to where a partition was loaded.

    Attributes:
        next_offset: the first offset that was not.
        topic_id: of the topic that it was loaded from, as Kafka writes it; None: it was unknown.
    """

    next_offset: int
    topic_id: str | None


Positions = Mapping[tuple[str, int], LoadedUpTo]
"""Topic and partition → up to where it was loaded."""


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

    def positions(self, logs: Positions) -> Positions:
        """Return up to where logs were loaded, of those that were.

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
