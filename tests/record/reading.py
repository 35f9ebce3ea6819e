"""Read the bytes of a log as plain records, for the tests of this folder."""

from pathlib import Path
from typing import NamedTuple

from tests.naive import Record
from workbench.file_system.source import FileSource
from workbench.layout.problems import END
from workbench.record.columns import RecordColumns
from workbench.record.reading.batch_table import BatchTable, scan_batches
from workbench.record.reading.reader import Problem, RecordReader


class Outcome(NamedTuple):
    """What reading a file gave."""

    records: list[Record]
    problems: list[Problem]
    stop_code: int

    @property
    def is_told(self) -> bool:
        """Whether a reader learns that something may be missing."""
        return bool(self.problems) or self.stop_code != END


def records_of(columns: RecordColumns) -> list[Record]:
    """Return columns as records."""
    keys, values, headers = columns.keys, columns.values, columns.headers
    assert keys is not None
    assert values is not None
    assert headers is not None
    return [
        Record(
            int(columns.offsets[at]),
            int(columns.timestamps[at]),
            keys.item(at),
            values.item(at),
            tuple(headers.item(at)),
        )
        for at in range(len(columns))
    ]


def read(folder: Path, data: bytes, *, check_crc: bool = True) -> Outcome:
    """Write ``data`` to a file in ``folder`` and read it."""
    path = folder / "read.log"
    path.write_bytes(data)
    records: list[Record] = []
    problems: list[Problem] = []
    with FileSource(str(path)) as source:
        reader = RecordReader(source, check_crc=check_crc)
        for chunk in reader:
            records += records_of(chunk.columns)
            problems += chunk.problems
        return Outcome(records, problems, reader.stop_code)


def table(folder: Path, data: bytes) -> BatchTable:
    """Write ``data`` to a file in ``folder`` and walk over its batch headers."""
    path = folder / "walked.log"
    path.write_bytes(data)
    with FileSource(str(path)) as source:
        return scan_batches(source)
