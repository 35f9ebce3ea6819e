"""The Parquet files that a commit adds to a table: written by one process or by tasks of Spark.

Until a table commits them, nothing reads them.
"""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa

PARTITIONED_BY: Final = ("topic", "day")
"""The columns that a table's files are divided by."""

ENDING: Final = ".parquet"

_ROW_GROUP: Final = 1 << 20  # rows
_OPEN_FILES: Final = 64  # that are written side by side


class DataFile(NamedTuple):
    """A file that was written.

    Attributes:
        path: below the folder of its `Staging`, as it is once it is committed.
        size: in bytes.
        metadata: its footer, a `pyarrow.parquet.FileMetaData`.
    """

    path: str
    size: int
    metadata: Any


@dataclass(frozen=True)
class Staging:
    """Where the files of a commit are written. Can be pickled.

    Attributes:
        files: a `pyarrow.fs.FileSystem`.
        folder: a path in it.
        run: begins the names of the files.
        schema: the columns of the table.
        hidden: follows the ending of a file that is not committed.
        folders: names what folders divide by `PARTITIONED_BY`. Files have these columns only if
            the names are others: Arrow leaves out what folders name.
    """

    files: Any
    folder: str
    run: str
    schema: pa.Schema
    hidden: str = ""
    folders: tuple[str, str] = PARTITIONED_BY

    def write(self, batches: Iterator[pa.RecordBatch]) -> list[DataFile]:
        """Write rows to files, and return them."""
        from pyarrow.dataset import ParquetFileFormat, write_dataset

        parquet = ParquetFileFormat()
        name = f"{self.run}-{secrets.token_hex(4)}"  # a task may be run twice
        column_of = {each: each for each in self.schema.names}
        column_of |= dict(zip(self.folders, PARTITIONED_BY, strict=True))
        schema = pa.schema([self.schema.field(c).with_name(n) for n, c in column_of.items()])
        rows = (
            pa.RecordBatch.from_arrays([batch[c] for c in column_of.values()], schema=schema)
            for batch in batches
        )
        found: list[Any] = []
        write_dataset(
            pa.RecordBatchReader.from_batches(schema, rows),
            self.folder,
            filesystem=self.files,
            format=parquet,
            file_options=parquet.make_write_options(compression="zstd"),
            partitioning=by_folders(self.folders),
            basename_template=f"{name}-{{i}}{ENDING}{self.hidden}",
            existing_data_behavior="overwrite_or_ignore",
            file_visitor=found.append,
            max_partitions=1 << 20,
            max_open_files=_OPEN_FILES,
            max_rows_per_group=_ROW_GROUP,
            min_rows_per_group=1,
            use_threads=False,
        )
        if is_local(self.files):
            for each in found:
                _sync(each.path)
        written = [DataFile(self._below(f.path), f.size, f.metadata) for f in found]
        return sorted(written, key=lambda each: each.path)

    def _below(self, path: str) -> str:
        return path.removeprefix(self.folder).removeprefix("/").removesuffix(self.hidden)


def by_folders(names: tuple[str, str] = PARTITIONED_BY) -> Any:
    """Return how folders of these names divide a table."""
    from pyarrow.dataset import partitioning

    topic, day = names
    columns = pa.schema([(topic, pa.string()), (day, pa.date32())])
    return partitioning(columns, flavor="hive")


def is_local(files: Any) -> bool:
    """Return whether a file system is that of this machine."""
    from pyarrow.fs import LocalFileSystem

    return isinstance(files, LocalFileSystem)


def _sync(path: str) -> None:
    """Let the disk have the bytes of a file before a commit names it."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
