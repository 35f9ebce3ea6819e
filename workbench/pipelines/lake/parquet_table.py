"""A table of Parquet files and manifests that say what is committed: ``by_topic=T/by_day=D/``.

A commit is one new file: manifest N + 1, which did not exist before. Until it is there, data files
are where no reader looks, under names that no pattern of Parquet files matches; then each is moved
to its place. A process that dies in between leaves moves to the next one, which does them first.

The layout is that of Hive: what reads such folders reads a table without knowing manifests. In
tables of earlier versions, which go on as they are, folders are named ``topic=T/day=D``, and files
do not have these two columns.
"""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import OutputError
from workbench.file_system.outputs import new_file
from workbench.pipelines.lake.data_files import (
    ENDING,
    FILE_BYTES,
    FOLDERS,
    PARTITIONED_BY,
    DataFile,
    Staging,
    below_topic,
    folders_of,
    is_local,
)
from workbench.pipelines.lake.shape import conformed
from workbench.pipelines.lake.table import (
    DELETES,
    LoadedUpTo,
    Log,
    Positions,
    are_of,
    joined_text,
    log_of,
    of_topic,
)
from workbench.runtime.clock import since_change_ns
from workbench.runtime.words import plural

MANIFESTS: Final = "_manifests"
"""The folder of manifests in a table; readers of Hive's folders skip names that begin so."""

UNFINISHED: Final = "_unfinished"
"""The folder of files that are not committed yet."""

_HIDDEN: Final = ".part"  # follows the ending of a file that is not committed

_KEPT_NS: Final = 7 * 86_400 * 10**9
"""How long manifests are kept at least. A process that began from one must find the next taken."""

_TAKEN: Final = "another process has written to the table meanwhile; run it again"

Manifest = dict[str, Any]
"""The content of a manifest: its version, the positions of all logs, the schema (Arrow's, in
hexadecimal), the names of the folders, the columns that they divide besides `PARTITIONED_BY`, and
the files that it added and removed."""


@dataclass
class ParquetTable:
    """A table in a folder of a file system.

    Attributes:
        files: a `pyarrow.fs.FileSystem`.
        root: the folder in it.
        name: what a user calls it.
        partition_by, file_bytes: see `Table`.
    """

    files: Any
    root: str
    name: str
    partition_by: tuple[str, ...] = ()
    file_bytes: int | None = None
    _last: Manifest = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._last = self._newest()
        if self._last:
            self.partition_by = tuple(self._last.get("partition_by", ()))
        self._finish()

    @property
    def version(self) -> int:
        """The number of the last commit; 0: there was none."""
        return int(self._last.get("version", 0))

    @property
    def schema(self) -> pa.Schema | None:
        """See `Table.schema`."""
        text = self._last.get("schema")
        return None if text is None else pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text)))

    def widens(self, _here: pa.DataType, _new: pa.DataType) -> bool:
        """See `Table.widens`: Spark and others refuse folders with two types of a column."""
        return False

    def positions(self, logs: Positions) -> Positions:
        """See `Table.positions`."""
        every = self._positions()
        last = {(topic, number): LoadedUpTo(at, id_) for (topic, number, id_), at in every.items()}
        return {
            log: of_topic(now.topic_id, last[log], every.get((*log, now.topic_id)))
            for log, now in logs.items()
            if log in last
        }

    def _positions(self) -> dict[tuple[str, int, str | None], int]:
        """Return topic, partition and topic id → next offset; of a log, the last comes last."""
        return {
            (topic, number, id_): at for topic, number, at, id_ in self._last.get("positions", ())
        }

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
        removed: list[str] = []
        if upsert:
            batches = self._replacing(batches, schema, removed)
        try:
            added = staging.write(batches)
        except FileNotFoundError:
            if self._newest().get("version", 0) == self.version:
                raise
            raise OutputError(self.name, _TAKEN) from None  # whose commit removed what is staged
        self.publish(staging, added, moved, removed)

    def staging(self, schema: pa.Schema) -> Staging:
        """See `Table.staging`."""
        run = f"{self.version + 1:012d}-{secrets.token_hex(4)}"
        return Staging(
            self.files,
            f"{self.root}/{UNFINISHED}/{run}",
            run,
            schema,
            _HIDDEN,
            (*PARTITIONED_BY, *self.partition_by),
            self._folder_names,
            self._has_columns,
            self.file_bytes,
        )

    @property
    def _folder_names(self) -> tuple[str, ...]:
        """The names of the columns that folders divide the files by."""
        if not self._last:
            return (*FOLDERS, *folders_of(self.partition_by))
        return tuple(self._last.get("folders", PARTITIONED_BY))

    @property
    def _has_columns(self) -> bool:
        """Whether the files have these columns, as those of earlier versions do not."""
        return self._folder_names[:2] != PARTITIONED_BY

    def publish(
        self,
        staging: Staging,
        added: Sequence[DataFile],
        moved: Positions,
        removed: Sequence[str] = (),
    ) -> None:
        """See `Table.publish`; whatever else is in ``staging`` is deleted.

        Args:
            staging, added, moved: see there.
            removed: the files of the table that are replaced.
        """
        positions = self._positions()
        for log, at in moved.items():
            positions.pop((*log, at.topic_id), None)
            positions[*log, at.topic_id] = at.next_offset
        manifest: Manifest = {
            "version": self.version + 1,
            "run": staging.run,
            "positions": [
                [topic, number, positions[topic, number, id_], id_]
                for topic, number, id_ in sorted(positions, key=lambda key: key[:2])
            ],
            "schema": staging.schema.remove_metadata().serialize().to_pybytes().hex(),
            "folders": list(staging.folders),
            "partition_by": list(self.partition_by),
            "added": [each.path for each in added],
            "removed": list(removed),
        }
        self._put_new(self._manifest(self.version + 1), json.dumps(manifest).encode())
        self._last = manifest
        self._finish()

    def optimize(self) -> str:
        """See `Table.optimize`: files are joined, and old manifests are deleted."""
        schema = self.schema
        assert schema is not None  # every manifest has it
        staging = self.staging(schema)
        groups = self._small_files()
        added = [file for group in groups for file in staging.write(self._rows(group, schema))]
        removed = [path for group in groups for path in group]
        if removed:
            self.publish(staging, added, {}, removed)
        old = self._expire()
        text = joined_text(self.name, len(removed), len(added))
        return f"{text}, {plural(old, 'old manifest')} deleted"

    def _small_files(self) -> list[list[str]]:
        """Return the files of each folder that one file can hold together."""
        groups: list[list[str]] = []
        folder, size = "", 0
        paths = self._data_files()
        for path, info in zip(
            paths, self.files.get_file_info([f"{self.root}/{each}" for each in paths]), strict=True
        ):
            if os.path.dirname(path) != folder or size + info.size > (
                self.file_bytes or FILE_BYTES
            ):
                groups.append([])
                folder, size = os.path.dirname(path), 0
            groups[-1].append(path)
            size += info.size
        return [group for group in groups if len(group) > 1]

    def _rows(self, paths: Iterable[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for path in paths:
            yield from conformed(self._read(path), schema).to_batches()

    def _expire(self) -> int:
        """Delete the manifests that no process can begin from any more; return how many."""
        from pyarrow.fs import FileSelector

        newest = self._manifest(self.version)
        old = [
            each.path
            for each in self.files.get_file_info(FileSelector(f"{self.root}/{MANIFESTS}"))
            if each.path != newest and since_change_ns(each.mtime_ns) > _KEPT_NS
        ]
        for path in old:
            with suppress(FileNotFoundError):
                self.files.delete_file(path)
        return len(old)

    def _replacing(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, removed: list[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield new rows, then the rows kept from those files that have others of their keys.

        Args:
            batches: see `commit`.
            schema: of what is yielded.
            removed: these files are put in.
        """
        keys: dict[Log, list[pa.Array]] = {}
        for batch in batches:
            keys.setdefault(log_of(batch), []).append(batch["key"])
            stays = batch.filter(pc.invert(batch[DELETES])).select(schema.names)
            if stays.num_rows:
                yield stays
        name = self._folder_names[0]
        topics = tuple(below_topic(name, topic) for topic in {log[0] for log in keys})
        known = {log: pa.chunked_array(found) for log, found in keys.items()}
        for path in self._data_files():
            if topics and path.startswith(topics):
                there = self._read(path)
                is_old = _have_keys(there, known)
                if pc.any(is_old).as_py():
                    removed.append(path)
                    stays = there.filter(pc.invert(is_old))
                    yield from conformed(stays, schema).to_batches()

    def _data_files(self) -> list[str]:
        """Return the paths of all data files, below the root."""
        names = (path.removeprefix(f"{self.root}/") for path in self._below(self.root))
        return sorted(n for n in names if n.endswith(ENDING) and not n.startswith("_"))

    def _read(self, path: str) -> pa.Table:
        """Return a data file, with the columns that only its folders have."""
        from pyarrow.dataset import dataset, partitioning

        columns = pa.schema([(PARTITIONED_BY[0], pa.string()), (PARTITIONED_BY[1], pa.date32())])
        return dataset(
            f"{self.root}/{path}",
            format="parquet",
            filesystem=self.files,
            partitioning=None if self._has_columns else partitioning(columns, flavor="hive"),
            partition_base_dir=self.root,
        ).to_table()

    def _manifest(self, version: int) -> str:
        return f"{self.root}/{MANIFESTS}/{version:012d}.json"

    def _newest(self) -> Manifest:
        """Return the last manifest; empty if there is none."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(f"{self.root}/{MANIFESTS}", allow_not_found=True)
        names = [each.base_name for each in self.files.get_file_info(selector)]
        numbers = [
            int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdigit()
        ]
        if not numbers:
            return {}
        with self.files.open_input_stream(self._manifest(max(numbers))) as file:
            found: Manifest = json.loads(file.read())
        return found

    def _finish(self) -> None:
        """Do what the last commit left to do, and remove what can never be committed any more.

        Two processes may do so at a time: what is not there any more, the other one has done.
        """
        run = self._last.get("run")
        if run is None:
            return
        staging = f"{self.root}/{UNFINISHED}"
        left = self._below(f"{staging}/{run}")
        removed = [f"{self.root}/{path}" for path in self._last["removed"]]
        for info in self.files.get_file_info(removed) if removed else ():
            if info.is_file:
                with suppress(FileNotFoundError):
                    self.files.delete_file(info.path)
        for path in self._last["added"]:
            if f"{staging}/{run}/{path}{_HIDDEN}" in left:
                with suppress(FileNotFoundError):
                    self._move(f"{staging}/{run}/{path}{_HIDDEN}", f"{self.root}/{path}")
        for folder in self._folders(staging):
            number = folder.rpartition("/")[2].partition("-")[0]
            if number.isdigit() and int(number) <= self.version:
                with suppress(FileNotFoundError):
                    self.files.delete_dir(folder)

    def _below(self, folder: str) -> set[str]:
        from pyarrow.fs import FileSelector

        selector = FileSelector(folder, recursive=True, allow_not_found=True)
        return {each.path for each in self.files.get_file_info(selector) if each.is_file}

    def _folders(self, folder: str) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        found = self.files.get_file_info(FileSelector(folder, allow_not_found=True))
        return [each.path for each in found if each.type == FileType.Directory]

    def _move(self, source: str, target: str) -> None:
        self.files.create_dir(os.path.dirname(target), recursive=True)
        self.files.move(source, target)

    def _put_new(self, path: str, data: bytes) -> None:
        """Write a file that did not exist before, whole or not at all.

        Raises:
            OutputError: another process has written it meanwhile.
        """
        self.files.create_dir(os.path.dirname(path), recursive=True)
        if is_local(self.files):
            try:
                with new_file(path) as file:
                    file.write(data)
            except OutputError:
                raise OutputError(self.name, _TAKEN) from None
            return
        if self.files.get_file_info(path).is_file:
            raise OutputError(self.name, _TAKEN)
        unfinished = f"{path}.{secrets.token_hex(4)}{_HIDDEN}"
        with self.files.open_output_stream(unfinished) as stream:
            stream.write(data)
        self.files.move(unfinished, path)


def _have_keys(rows: pa.Table, keys: Mapping[Log, Any]) -> Any:
    """Return which rows have one of the keys of their topic and partition."""
    found = pa.repeat(pa.scalar(value=False), rows.num_rows)
    for log, known in keys.items():
        found = pc.or_(found, pc.and_(are_of(log, rows), pc.is_in(rows["key"], known)))
    return found
