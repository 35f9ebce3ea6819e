"""Logs with known records, as brokers would leave them, and a disk that dies at a chosen call."""

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable as Delta
from pyarrow import PythonFile
from pyarrow.dataset import dataset
from pyarrow.fs import FileSelector, FileSystemHandler, LocalFileSystem
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import PyArrowFileIO

from tests.naive import Record, batch

DAY: Final = 86_400_000  # ms
IDS: Final = {
    "orders": "AAAAAAAAAAAAAAAAAAAAAQ",
    "people": "AAAAAAAAAAAAAAAAAAAAAg",
    "zones": "AAAAAAAAAAAAAAAAAAAAAw",
}

AGAIN: Final = "BBBBBBBBBBBBBBBBBBBBBA"
"""The id of a topic that was deleted and made again."""


class Disk:
    """The log directory of a broker; records are written in batches of ``per_batch``."""

    def __init__(self, path: Path, node_id: int = 1, per_batch: int = 5) -> None:
        self.path = path
        self.per_batch = per_batch
        path.mkdir(parents=True)
        text = f"version=1\nnode.id={node_id}\ncluster.id=KOs8FIclSEWfhgk3Xg48hg\n"
        path.joinpath("meta.properties").write_text(text)

    def append(
        self, log: str, records: Iterable[Record], topic_id: str | None = None, **fields: Any
    ) -> None:
        """Add records to the end of a log; see `naive.batch` for the fields."""
        folder = self.path / log
        folder.mkdir(exist_ok=True)
        topic = log.rpartition("-")[0]
        id_ = topic_id or IDS[topic]
        folder.joinpath("partition.metadata").write_text(f"version: 0\ntopic_id: {id_}")
        every = list(records)
        with folder.joinpath(f"{0:020d}.log").open("ab") as file:
            for first in range(0, len(every), self.per_batch):
                file.write(batch(every[first : first + self.per_batch], **fields))

    def append_bytes(self, log: str, data: bytes) -> None:
        """Add bytes to the end of a log."""
        with self.path.joinpath(log, f"{0:020d}.log").open("ab") as file:
            file.write(data)


def orders(first: int, end: int, **more: Any) -> list[Record]:
    """Return records of JSON, of which each fifth begins a day."""
    return [
        Record(
            at,
            1_700_000_000_000 + at // 5 * DAY,
            f"k{at % 7}".encode(),
            json.dumps({"number": at, **more}).encode(),
        )
        for at in range(first, end)
    ]


def rows_of(table: Path, columns: str = 'topic, partition, "offset"') -> list[tuple[Any, ...]]:
    """Return what DuckDB finds in the folders of a table, sorted."""
    files = [str(path) for path in table.glob("**/*.parquet")]
    if not files:
        return []
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        read = connection.read_parquet(files, union_by_name=True, hive_partitioning=True)
        return read.select(columns).order("all").fetchall()


Row = tuple[Any, ...]
COLUMNS: Final = ("topic", "partition", "offset", "key")


class Place:
    """Where a table of one format is.

    Attributes:
        arguments: of `to_table`.
        table_name: the last part of its name.
        rows: returns what another reader finds there.
    """

    def __init__(self, form: str, folder: Path) -> None:
        self.form = form
        self.folder = folder
        self.table_name = "t"
        self.arguments: dict[str, Any] = {"to": str(folder / "t"), "table_format": form}
        if form == "iceberg":
            folder.mkdir()
            self.options = {
                "type": "sql",
                "uri": f"sqlite:///{folder}/catalog.db",
                "warehouse": folder.as_uri(),
            }
            self.arguments |= {"to": "lake.t", "options": self.options}

    def table(self) -> pa.Table:
        """Return the whole table, by the format's own reader."""
        if self.form == "parquet":
            there = self.folder / self.table_name
            return dataset(str(there), partitioning="hive", exclude_invalid_files=True).to_table()
        if self.form == "delta":
            return Delta(str(self.folder / self.table_name)).to_pyarrow_table()
        return (
            load_catalog(None, **self.options)
            .load_table(f"lake.{self.table_name}")
            .scan()
            .to_arrow()
        )

    def rows(self, columns: tuple[str, ...] = COLUMNS) -> list[Row]:
        """Return columns of all rows, sorted."""
        if self.form == "parquet":
            return rows_of(
                self.folder / self.table_name, ", ".join(f'"{name}"' for name in columns)
            )
        found = self.table().select(list(columns)).to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def everything(self) -> list[dict[str, Any]]:
        """Return all columns of all rows, sorted."""
        found = self.table()
        order = [(name, "ascending") for name in ("topic", "partition", "topic_id", "offset")]
        return found.select(sorted(found.column_names)).sort_by(order).to_pylist()  # type: ignore[no-any-return]


class DiedError(OSError):
    """The process is dead: nothing that it does has an effect any more."""


class Death:
    """Counts what changes the disk, and dies at a chosen change.

    Attributes:
        at: the number of the change that does not happen any more; None: it lives.
        changes: how many there were.
    """

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.changes = 0

    @property
    def at_change(self) -> int | None:
        """The value of ``changes`` at the moment of death."""
        return None if self.at is None else self.at + 1

    @property
    def is_dead(self) -> bool:
        """Whether the change was reached."""
        return self.at is not None and self.changes > self.at

    def change(self) -> None:
        """Count a change, or die."""
        if not self.is_dead:
            self.changes += 1
        self.look()

    def look(self) -> None:
        """Die if the process is dead."""
        if self.is_dead:
            raise DiedError


class DyingFiles(FileSystemHandler):  # type: ignore[misc]
    """The local file system, until death; a write that it interrupts leaves half of the bytes."""

    def __init__(self, death: Death) -> None:
        self._death = death
        self._local = LocalFileSystem()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def get_type_name(self) -> str:
        return "dying"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        self._death.look()
        return self._local.get_file_info(paths)

    def get_file_info_selector(self, selector: FileSelector) -> Any:
        self._death.look()
        return self._local.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:  # noqa: FBT001 - pyarrow's signature
        self._death.change()
        self._local.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._death.change()
        self._local.delete_dir(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> None:  # noqa: FBT001
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._death.change()
        self._local.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        self._death.change()
        self._local.move(src, dest)

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def open_input_stream(self, path: str) -> Any:
        self._death.look()
        return self._local.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        self._death.look()
        return self._local.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ARG002
        self._death.change()
        return PythonFile(_DyingFile(path, self._death), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError


class KillingFiles(DyingFiles):
    """The local file system, which kills one process that writes, and is not this one."""

    def __init__(self, killed: str) -> None:
        super().__init__(Death())
        self._killed = killed
        self._own = os.getpid()

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        stream = super().open_output_stream(path, metadata)
        if os.getpid() != self._own and not os.path.exists(self._killed):
            Path(self._killed).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return stream


class _DyingFile(io.BytesIO):
    def __init__(self, path: str, death: Death) -> None:
        super().__init__()
        self._path = Path(path)
        self._path.write_bytes(b"")
        self._death = death

    def close(self) -> None:
        data = b"" if self.closed else self.getvalue()
        super().close()
        if not data:
            return
        try:
            self._death.change()
        except DiedError:
            if self._death.changes == self._death.at_change:
                self._path.write_bytes(data[: len(data) // 2])
            raise
        self._path.write_bytes(data)


DEATHS: dict[str, Death] = {}


LivingIO: Any = PyArrowFileIO


class DyingIO(LivingIO):  # type: ignore[misc]
    """The files of an Iceberg table, until death; see `Death`."""

    def new_output(self, location: str) -> Any:
        DEATHS[self.properties["death"]].change()
        return super().new_output(location)

    def new_input(self, location: str) -> Any:
        DEATHS[self.properties["death"]].look()
        return super().new_input(location)

    def delete(self, location: Any) -> None:
        DEATHS[self.properties["death"]].change()
        super().delete(location)


def dies_at_each_change(load: Callable[[dict[str, Any]], object], folder: Path) -> Place:
    """Let a load into Iceberg die at each change, and run it again: the table is as without death.

    Args:
        load: calls `to_table` with these arguments; it loads nine rows.
        folder: of the tables.

    Returns:
        The table of a load that does not die.
    """

    def run(place: Place, death: Death) -> None:
        DEATHS[str(place.folder)] = death
        dying = {"py-io-impl": f"{DyingIO.__module__}.DyingIO", "death": str(place.folder)}
        load(place.arguments | {"options": place.options | dying})

    whole, exact = Death(), Place("iceberg", folder / "whole")
    run(exact, whole)
    assert len(exact.rows()) == 9
    assert whole.changes >= 4  # metadata twice, a manifest and a list of manifests
    for at in range(whole.changes):
        place = Place("iceberg", folder / f"died-{at}")
        with pytest.raises(DiedError):
            run(place, Death(at))
        run(place, Death())
        assert place.everything() == exact.everything(), at
    return exact


class PythonChanges:
    """Lets what Python itself changes below a folder die; what Arrow writes is not seen."""

    _EVENTS: Final = frozenset({"os.link", "os.remove", "os.rename", "os.mkdir", "os.rmdir"})

    def __init__(self) -> None:
        self.death: Death | None = None
        self.root = ""
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.death is None or (event not in self._EVENTS and event != "open"):
            return
        path = arguments[0]
        if not isinstance(path, str) or not path.startswith(self.root):
            return
        if event != "open" or (isinstance(arguments[2], int) and arguments[2] & 3):
            self.death.change()

    def dying(self, root: Path, death: Death, run: Callable[[], object]) -> None:
        """Run something until it dies."""
        self.root, self.death = str(root), death
        try:
            run()
        finally:
            self.death = None
