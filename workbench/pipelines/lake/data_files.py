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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, groupby
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote, unquote

import pyarrow as pa

from workbench.errors import OutputError

PARTITIONED_BY: Final = ("topic", "day")
"""The columns that the files of every table are divided by; others may follow, see `Staging`."""

FOLDERS: Final = ("by_topic", "by_day")
"""The names of these columns in folders. Files have the columns themselves: some readers take what
folders name for a number or a date where it looks like one."""

ENDING: Final = ".parquet"

FILE_BYTES: Final = 128 << 20
"""Up to what size files are joined."""

_ROW_GROUP: Final = 1 << 20  # rows
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"  # in folders: no value
_LONGEST: Final = 240  # bytes of a name on a disk, with room for what stands before it
_LONGEST_TOPIC: Final = 249  # of a broker's
_LONGEST_NAME: Final = 255  # bytes of a name on a disk
_SAMPLE: Final = 8 << 20  # bytes of rows that say how large a row is in a file
_OPEN_FILES: Final = 64  # that are written side by side
_MOST_OPEN_FILES: Final = 256  # where values that alternate divide them
_PATIENCE: Final = 10.0  # seconds in which Arrow's threads end after an error
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


class DataFile(NamedTuple):
    """A file that was written.

    Attributes:
        path: below the folder of its `Staging`, as it is once it is committed.
        size: in bytes.
        metadata: its footer, a `pyarrow.parquet.FileMetaData`.
        values: column that folders divide → its value in all rows, as text; None: null.
    """

    path: str
    size: int
    metadata: Any
    values: Mapping[str, str | None]


@dataclass(frozen=True)
class Staging:
    """Where the files of a commit are written. Can be pickled.

    Attributes:
        files: a `pyarrow.fs.FileSystem`.
        folder: a path in it.
        run: begins the names of the files.
        schema: the columns of the table.
        hidden: follows the ending of a file that is not committed.
        columns: what folders divide the files by.
        folders: the names of these columns in folders.
        has_columns: whether the files have these columns, too.
        file_bytes: about how large a file becomes; None: as large as its rows.
    """

    files: Any
    folder: str
    run: str
    schema: pa.Schema
    hidden: str = ""
    columns: tuple[str, ...] = PARTITIONED_BY
    folders: tuple[str, ...] = FOLDERS
    has_columns: bool = True
    file_bytes: int | None = None

    def write(self, batches: Iterator[pa.RecordBatch]) -> list[DataFile]:
        """Write rows to files, and return them.

        Raises:
            OutputError: the disk is full or read-only.
        """
        name = f"{self.run}-{secrets.token_hex(4)}"  # a task may be run twice
        with self._without_rest(name):
            if self.file_bytes is None:
                return self._write(batches, name)
            return self._sized(batches, name, self.file_bytes)

    def _sized(
        self, batches: Iterator[pa.RecordBatch], name: str, file_bytes: int
    ) -> list[DataFile]:
        """Write rows to files of about a size, by a sample of the rows of each topic."""
        written: list[DataFile] = []
        for _, of_topic in groupby(batches, lambda batch: batch["topic"][0].as_py()):
            sample = [next(of_topic)]
            while sum(each.nbytes for each in sample) < _SAMPLE and (more := next(of_topic, None)):
                sample.append(more)
            rows = max(1, int(file_bytes / _bytes_of_a_row(sample)))
            every = chain(sample, of_topic)  # noqa: B031 - the rest
            written += self._write(every, f"{name}-{len(written)}", rows)
        return written

    def _write(
        self, batches: Iterator[pa.RecordBatch], name: str, most_rows: int = 0
    ) -> list[DataFile]:
        """Write rows to files whose names begin so, of at most so many rows (0: any number)."""
        from pyarrow.dataset import ParquetFileFormat, partitioning, write_dataset

        parquet = ParquetFileFormat()
        inside = [each for each in self.schema if self.has_columns or each.name not in self.columns]
        longest = _LONGEST if self.has_columns else _LONGEST_TOPIC
        of_folders = pa.schema([(each, pa.string()) for each in self.folders])
        schema = pa.schema([*inside, *of_folders])
        texts: dict[str, dict[str, str]] = {each: {} for each in self.folders}
        rows = (
            pa.RecordBatch.from_arrays(
                [
                    *(batch[each.name] for each in inside),
                    *(
                        _as_folders(batch[column], texts[folder], longest)
                        for column, folder in zip(self.columns, self.folders, strict=True)
                    ),
                ],
                schema=schema,
            )
            for batch in batches
        )
        found: list[Any] = []
        with _given(rows, self.folder) as given:
            write_dataset(
                pa.RecordBatchReader.from_batches(schema, given()),
                self.folder,
                filesystem=self.files,
                format=parquet,
                file_options=parquet.make_write_options(compression="zstd"),
                partitioning=partitioning(of_folders, flavor="hive"),
                basename_template=f"{name}-{{i}}{ENDING}{self.hidden}",
                existing_data_behavior="overwrite_or_ignore",
                file_visitor=found.append,
                max_partitions=1 << 20,
                max_open_files=_OPEN_FILES if len(self.columns) == 2 else _MOST_OPEN_FILES,
                max_rows_per_file=most_rows,
                max_rows_per_group=min(_ROW_GROUP, most_rows or _ROW_GROUP),
                min_rows_per_group=1,
                use_threads=False,
            )
        if is_local(self.files):
            for each in found:
                sync(each.path)
        written = [self._written(each, texts) for each in found]
        return sorted(written, key=lambda each: each.path)

    def _written(self, file: Any, texts: Mapping[str, Mapping[str, str]]) -> DataFile:
        """Return what is known of a file.

        Args:
            file: what Arrow has written.
            texts: name in folders → name of a folder → value.
        """
        path = file.path.removeprefix(self.folder).removeprefix("/").removesuffix(self.hidden)
        values = {}
        parts = path.split("/")[:-1]
        for column, folder, part in zip(self.columns, self.folders, parts, strict=True):
            values[column] = texts[folder].get(unquote(part.removeprefix(f"{folder}=")))
        return DataFile(path, file.size, file.metadata, values)

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
    def beside(self, schema: pa.Schema) -> Iterator["Staging"]:
        """Yield where files are written that never become part of the table, and delete them.

        Args:
            schema: their columns.
        """
        folder = posixpath.join(self.folder, f"upsert-{self.run}")
        try:
            yield Staging(self.files, folder, self.run, schema, self.hidden)
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


def folders_of(columns: Iterable[str], prefix: str = "by_") -> tuple[str, ...]:
    """Return the names of columns in folders, escaped as Hive does."""
    return tuple(f"{prefix}{quote(each, safe='')}" for each in columns)


def below_topic(name: str, topic: str) -> str:
    """Return the beginning of the paths of a topic's files in folders whose first has a name."""
    value = _in_folders(topic) if name == FOLDERS[0] else topic
    return f"{name}={quote(value, safe='')}/"


def fits_a_folder(name: str, value: str) -> bool:
    """Return whether a value can be that of a folder, as in ``name=value``; Hive's is not empty."""
    return bool(value) and len(f"{name}={quote(value, safe='')}") <= _LONGEST_NAME


def _in_folders(text: str, longest: int = _LONGEST) -> str:
    """Return the name of the folder of a value, which Arrow escapes as Hive does."""
    fits = text != NO_VALUE and len(quote(text, safe="")) <= longest
    return text if fits else _shortened(text)


def _shortened(topic: str) -> str:
    return f"{re.sub('[^a-zA-Z0-9]', '-', topic[:64])}-{sha256(topic.encode()).hexdigest()}"


def _as_folders(values: pa.Array, texts: dict[str, str], longest: int) -> pa.Array:
    """Return the folders of values; ``texts`` gets the value of each, as text."""
    found = values.dictionary_encode()
    of_values = found.dictionary.cast(pa.string()).to_pylist()
    names = [_in_folders(each, longest) for each in of_values]
    texts.update(zip(names, of_values, strict=True))
    return pa.DictionaryArray.from_arrays(found.indices, pa.array(names, pa.string())).cast(
        pa.string()
    )


def _bytes_of_a_row(sample: list[pa.RecordBatch]) -> float:
    """Return how many bytes a row takes in a file, by some rows."""
    from pyarrow.parquet import read_metadata, write_table

    table = pa.Table.from_batches(sample)
    file = pa.BufferOutputStream()
    write_table(table, file, compression="zstd")
    metadata = read_metadata(pa.BufferReader(file.getvalue()))
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    columns = (group.column(at) for group in groups for at in range(group.num_columns))
    size = sum(each.total_compressed_size for each in columns)
    return float(size / max(1, table.num_rows)) or 1.0


def is_local(files: Any) -> bool:
    """Return whether a file system is that of this machine."""
    from pyarrow.fs import LocalFileSystem

    return isinstance(files, LocalFileSystem)


def sync(path: str) -> None:
    """Let the disk have the bytes of a file before a commit names it."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
