"""An export: write the records of a scan to a file, report how many so far, stop on request.

The file appears under its name only when it is complete; after an error, or when it was canceled,
no file is left.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, Final, Literal, get_args

from workbench.decoders.json import JSON
from workbench.errors import OutputError
from workbench.file_system.outputs import new_file
from workbench.layout.rows import runs_of
from workbench.loaders.exports import json_lines
from workbench.loaders.exports.csv_file import write_csv
from workbench.loaders.exports.parquet_file import write_parquet
from workbench.loaders.scan.not_searched import NotSearched
from workbench.loaders.scan.plan import input_paths
from workbench.loaders.scan.scan import Scan, of_one_worker, stored_in
from workbench.loaders.scan.segment_batches import matching_chunks
from workbench.loaders.schemas import RECORD_FIELDS
from workbench.record.buffers import BufferPool
from workbench.runtime.job import Job
from workbench.values.by_topic import decoder_of, format_of
from workbench.values.readable import AUTO
from workbench.values.registry import AnyDecoding, Decoding

Format = Literal["parquet", "csv", "jsonl"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
SUFFIXES: Final[dict[str, Format]] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
}
"""The format of a file by the ending of its name."""


class Export(Job):
    """One export; it runs once. If it is canceled, it leaves no file.

    `run` raises OutputError if there is a file of that name, or it would be where records are read,
    and OSError if it cannot be written.

    Attributes:
        path: the file.
        form: its format.
        records: how many records are written.

    Args:
        scan: what is written; its columns do not matter to JSON lines.
        path: the file; it must not exist, nor be in a directory that is read.
        form: "parquet", "csv" or "jsonl"; None: by the ending of the name.

    Raises:
        OutputError: the ending of the name is none that is known, or the format has no masks.
    """

    def __init__(self, scan: Scan, path: str, form: Format | None = None) -> None:
        form = form or SUFFIXES.get(Path(path).suffix.lower())
        if form is None:
            raise OutputError(path, f"has none of the endings {', '.join(SUFFIXES)}")
        if form == "jsonl" and scan.masks.rules:
            raise OutputError(
                path, "JSON lines hold the bytes of records: a mask needs Parquet or CSV"
            )
        super().__init__("export")
        self.path = path
        self.form: Format = form
        self.records = 0
        self._scan = scan

    @property
    def not_searched(self) -> list[NotSearched]:
        """What is in the directories and not in the file; see `Scan.not_searched`."""
        return self._scan.not_searched

    def _work(self) -> None:
        with new_file(self.path, input_paths(self._scan.partitions)) as file:
            self._write(file)

    def _write(self, file: IO[bytes]) -> None:
        if self.form == "parquet":
            scan = of_one_worker(self._scan)
            workers = self._scan.workers
            write_parquet(self._batches(scan), scan.schema, file, "zstd", workers=workers)
        elif self.form == "csv":
            write_csv(self._batches(self._scan), self._scan.schema, file)
        else:
            for text in self._lines():
                file.write(text.encode())

    def _count(self, records: int) -> None:
        self._go_on()
        self.records += records

    def _batches(self, scan: Scan) -> Iterator[Any]:
        for batch in scan.batches():
            self._count(batch.num_rows)
            yield batch

    def _lines(self) -> Iterator[str]:
        pool = BufferPool()
        decode = self._scan.decode
        decoders = self._scan.values.decoders if decode else {}
        schemas = cache(partial(stored_in, self._scan.listing))

        @cache
        def shown(topic: str) -> json_lines.Shown:
            formats = {name: format_of(decode[name], topic) for name in decoders}
            rule = json_lines.readable_of(topic, schemas)
            # JSON is written as it is stored: lines have no types that it must fit.
            if _is_plain_json(formats.get("key")):
                rule = rule._replace(key=JSON.key)
            if _is_plain_json(formats.get("value")):
                rule = rule._replace(value=JSON.value)
            asked = {
                name: decoder_of(each, topic)
                for name, each in decoders.items()
                if formats[name] not in {None, AUTO} and not _is_plain_json(formats[name])
            }
            return json_lines.shown_by(asked, rule)

        everything = replace(self._scan.options, columns=tuple(RECORD_FIELDS))
        for read in self._scan.plan():
            where = (read.partition.topic, read.partition.partition)
            with suppress(FileNotFoundError):  # removed since it was listed
                for chunk, keep, *_ in matching_chunks(read, everything, pool):
                    runs = runs_of(keep)
                    yield from json_lines.record_lines(
                        chunk.columns, chunk.rows, runs, where, shown=shown(where[0])
                    )
                    self._count(int(keep.sum()))


def _is_plain_json(how: AnyDecoding | None) -> bool:
    """Return whether a format is JSON without a schema."""
    return how is not None and Decoding.of(how) == Decoding(JSON.name)
