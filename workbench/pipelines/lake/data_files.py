"""The Parquet files that a commit adds to a table: written by one process or by tasks of Spark.

Until a table commits them, nothing reads them.
"""

import errno
import os
import posixpath
import re
import secrets
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote

import pyarrow as pa

from workbench.errors import OutputError

PARTITIONED_BY: Final = ("topic", "day")
"""The columns that a table's files are divided by."""

FOLDERS: Final = ("by_topic", "by_day")
"""The names of these columns in folders. Files have the columns themselves: some readers take what
folders name for a number or a date where it looks like one."""

ENDING: Final = ".parquet"

FILE_BYTES: Final = 128 << 20
"""Up to what size files are joined."""

_ROW_GROUP: Final = 1 << 20  # rows
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"  # in folders: no value
_LONGEST: Final = 240  # bytes of a name on a disk, with room for what stands before it
_OPEN_FILES: Final = 64  # that are written side by side
_PATIENCE: Final = 10.0  # seconds in which Arrow's threads end after an error
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


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
    folders: tuple[str, str] = FOLDERS

    def write(self, batches: Iterator[pa.RecordBatch]) -> list[DataFile]:
        """Write rows to files, and return them.

        Raises:
            OutputError: the disk is full or read-only.
        """
        from pyarrow.dataset import ParquetFileFormat, write_dataset

        parquet = ParquetFileFormat()
        name = f"{self.run}-{secrets.token_hex(4)}"  # a task may be run twice
        column_of = {each: each for each in self.schema.names}
        column_of |= dict(zip(self.folders, PARTITIONED_BY, strict=True))
        schema = pa.schema([self.schema.field(c).with_name(n) for n, c in column_of.items()])
        items = tuple(column_of.items())
        rows = (
            pa.RecordBatch.from_arrays(
                [_as_folders(batch[c]) if n == FOLDERS[0] else batch[c] for n, c in items],
                schema=schema,
            )
            for batch in batches
        )
        found: list[Any] = []
        with self._without_rest(name), _given(rows, self.folder) as given:
            write_dataset(
                pa.RecordBatchReader.from_batches(schema, given()),
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
                sync(each.path)
        written = [DataFile(self._below(f.path), f.size, f.metadata) for f in found]
        return sorted(written, key=lambda each: each.path)

    @contextmanager
    def _without_rest(self, name: str) -> Iterator[None]:
        """If the body fails, delete the files whose names begin so: the disk may be full."""
        from pyarrow.fs import FileSelector

        try:
            yield
        except BaseException:
            with suppress(OSError):
                every = FileSelector(self.folder, allow_not_found=True, recursive=True)
                for each in self.files.get_file_info(every):
                    if each.base_name.startswith(name):
                        self.files.delete_file(each.path)
            raise

    @contextmanager
    def beside(self, schema: pa.Schema) -> Iterator[Self]:
        """Yield where files are written that never become part of the table, and delete them.

        Args:
            schema: their columns.
        """
        folder = posixpath.join(self.folder, f"upsert-{self.run}")
        try:
            yield replace(self, folder=folder, schema=schema, folders=FOLDERS)
        finally:
            with suppress(FileNotFoundError):
                self.files.delete_dir(folder)

    def read(self, written: Iterable[DataFile]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of files, which have the columns that folders divide."""
        from pyarrow.parquet import ParquetFile

        for each in written:
            path = f"{self.folder}/{each.path}{self.hidden}"
            with self.files.open_input_file(path) as source, ParquetFile(source) as file:
                for batch in file.iter_batches():
                    yield batch.select(self.schema.names).cast(self.schema)

    def _below(self, path: str) -> str:
        return path.removeprefix(self.folder).removeprefix("/").removesuffix(self.hidden)


class _Rows:
    """Batches for Arrow's threads, which may ask for more after the writing has failed.

    Attributes:
        has_failed: whether there was an error in making them.
        released: is set when no thread of Arrow has them any more.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._lock = threading.Lock()
        self._is_over = self.has_failed = False
        self.released = threading.Event()
        weakref.finalize(self, self.released.set)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            if self._is_over:
                raise StopIteration
            try:
                return next(self._batches)
            except Exception as error:
                self.has_failed = not isinstance(error, StopIteration)
                raise

    def end(self) -> None:
        """Give no more, and return when none is being given."""
        with self._lock:
            self._is_over = True


@contextmanager
def _given(
    batches: Iterator[pa.RecordBatch], folder: str
) -> Iterator[Callable[[], Iterator[pa.RecordBatch]]]:
    """Yield a function that returns the batches; none is asked for after the body has failed.

    A thread of Arrow that asks for one while Python ends would end the process, or hang it.

    Raises:
        OutputError: the disk of the folder is full or read-only.
    """
    kept = [_Rows(batches)]
    rows, released = weakref.ref(kept[0]), kept[0].released
    try:
        yield kept.pop
    except BaseException as error:
        if (there := rows()) is not None:
            there.end()
            if there.has_failed:
                _let_go(error)
        del there
        released.wait(_PATIENCE)
        if isinstance(error, OSError) and error.errno in _UNWRITABLE and not error.filename:
            raise OutputError(folder, f"cannot be written: {os.strerror(error.errno)}") from error
        raise


def _let_go(error: BaseException | None) -> None:
    """Release what the calls that an error has left still hold, and those of its causes.

    An error in making the rows has passed through them, and so holds them.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def folder_name(topic: str) -> str:
    """Return the name of a folder for a topic: its own, if a broker takes it, otherwise escaped.

    Escapes are ``~2F``, as deltalake resolves those of a URI. A name that is too long for a disk
    ends in a hash.
    """
    name = quote(topic, safe="") if topic.strip(".") else topic.replace(".", "%2E")
    name = name.replace("~", "%7E").replace("%", "~")
    return name if len(name) <= _LONGEST else _shortened(topic)


def below_topic(names: tuple[str, str], topic: str) -> str:
    """Return the beginning of the paths of a topic's files in folders of these names."""
    value = _in_folders(topic) if names == FOLDERS else topic
    return f"{names[0]}={quote(value, safe='')}/"


def _in_folders(topic: str) -> str:
    """Return the value of the first of `FOLDERS`, which Arrow escapes."""
    fits = topic != NO_VALUE and len(quote(topic, safe="")) <= _LONGEST
    return topic if fits else _shortened(topic)


def _shortened(topic: str) -> str:
    return f"{re.sub('[^a-zA-Z0-9]', '-', topic[:64])}-{sha256(topic.encode()).hexdigest()}"


def _as_folders(topics: pa.Array) -> pa.Array:
    found = topics.dictionary_encode()
    values = [_in_folders(each) for each in found.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(found.indices, pa.array(values, pa.string())).cast(
        pa.string()
    )


def by_folders(names: tuple[str, str]) -> Any:
    """Return how folders of these names divide a table."""
    from pyarrow.dataset import partitioning

    topic, day = names
    columns = pa.schema([(topic, pa.string()), (day, pa.date32())])
    return partitioning(columns, flavor="hive")


def is_local(files: Any) -> bool:
    """Return whether a file system is that of this machine."""
    from pyarrow.fs import LocalFileSystem

    return isinstance(files, LocalFileSystem)


def sync(path: str) -> None:
    """Let the disk have the bytes of a file before a commit names it."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
