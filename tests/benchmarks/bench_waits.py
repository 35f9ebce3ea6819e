"""What people wait for: commands over many partitions and over JSON, and batches of few records.

DuckDB's `json_extract` over the same texts in memory stands beside `sql`: what it takes there, and
no log is read. Memory is the largest of a command, with the program.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from tests.benchmarks.bench_engine_load import made
from tests.benchmarks.bench_workers import scanned
from tests.benchmarks.measure import FOLDER, Timing, best_of, generated, table
from workbench.inspection.listing import list_log_directories
from workbench.record.writing.batch_writer import BatchWriter

COMMAND: Final = str(Path(sys.executable).with_name("kafka-workbench"))
TURNS: Final = 3
LOGS: Final = 3000
RECORDS: Final = 1_800_000
IN_A_BATCH: Final = 100
SMALL: Final = 300
"""Bytes of a batch of two or three records."""

OVER_LOGS: Final = {
    "predict": "a load of each log and a read as a consumer, some 2,500 calls of Python",
    "stuck": "a load of each log, and its first and last batches",
    "report": "two loads of each log, and its records read",
}
OVER_JSON: Final = {
    "sql, sum of a field": "a pass for the type and one for the values",
    "search '$.amount = 999'": "decoding, and a pattern over all values",
    "export to Parquet, decoded": "Arrow's JSON reader, for the type and for the values",
    "export to Parquet, bytes": "Parquet's encoding",
}


def value_of(at: int) -> bytes:
    """Return a JSON text of about 145 bytes."""
    return (
        b'{"id":"O-%07d","customer":"c-%06d","amount":%d,"currency":"EUR","lines":[{"sku":"TEA-%d",'
        b'"count":%d}],"state":"PAID","note":"%s"}'
        % (at, at * 7919 % 100_000, at % 1000, at % 97, at % 5, b"x" * (at % 32))
    )


def json_log() -> Path:
    """Return a log directory of one partition of JSON values; kept between runs."""
    root = FOLDER / f"json-{RECORDS}"
    if not root.exists():
        unfinished = root.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / "orders-0").mkdir(parents=True)
        with open(unfinished / "orders-0" / f"{0:020d}.log", "wb") as file:
            for base in range(0, RECORDS, IN_A_BATCH):
                batch = BatchWriter(base_offset=base)
                for at in range(base, base + IN_A_BATCH):
                    batch.append(
                        1_700_000_000_000 + at, b"c-%06d" % (at * 7919 % 100_000), value_of(at)
                    )
                file.write(batch.finish())
        unfinished.rename(root)
    return root


def waited(*words: str) -> tuple[Timing, int]:
    """Run a command some times; return its least times, and its largest memory in bytes."""
    cpu, wall, largest = [], [], 0
    for _ in range(TURNS):
        began = time.perf_counter()
        process = subprocess.Popen(
            [COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in {0, 1}:  # 1: findings
            raise subprocess.CalledProcessError(process.returncode, words)
        wall.append(time.perf_counter() - began)
        cpu.append(usage.ru_utime + usage.ru_stime)
        largest = max(largest, usage.ru_maxrss * 1024)
    return Timing(min(cpu), min(wall), 0), largest


def shown(found: tuple[Timing, int]) -> list[str]:
    """Return the cells of a command: elapsed time, CPU time, memory."""
    timing, memory = found
    return [f"{timing.wall:.1f} s", f"{timing.cpu:.1f} s", f"{memory / 1e6:.0f} MB"]


def over_json(root: Path, folder: Path) -> list[list[str]]:
    """Return rows of commands over JSON, and DuckDB's own function over the same texts."""
    path, out = str(root), str(folder / "orders.parquet")
    decoded = ("--value-format", "json")
    words = {
        "sql, sum of a field": ("sql", path, "select sum(value.amount) from orders", *decoded),
        "search '$.amount = 999'": ("search", path, "$.amount = 999", "--count"),
        "export to Parquet, decoded": ("export", path, "-o", out, "--overwrite", *decoded),
        "export to Parquet, bytes": ("export", path, "-o", out, "--overwrite"),
    }
    rows = [[name, *shown(waited(*words[name])), bound] for name, bound in OVER_JSON.items()]
    texts = pa.table({"value": pa.array([value_of(at).decode() for at in range(RECORDS)])})
    with duckdb.connect() as connection:
        connection.register("texts", texts)
        connection.execute("set threads = 1")
        query = "select sum(cast(json_extract(value, '$.amount') as bigint)) from texts"
        peer = best_of(lambda: len(connection.sql(query).fetchall()), TURNS)
    rows.append(["DuckDB's `json_extract`", f"{peer.wall:.1f} s", f"{peer.cpu:.1f} s", "", ""])
    return rows


def small_batches() -> list[list[str]]:
    """Return rows of how fast batches of few records are read beside large ones."""
    rows = []
    for codec in ("none", "lz4"):
        speeds = []
        for size in (SMALL, 16384, 65536):
            listing = list_log_directories(generated(codec, 100, 64 << 20, size))
            found = best_of(partial(scanned, listing, 1), TURNS)
            speeds.append(found.records / found.cpu)
        small, middle, large = speeds
        rows.append(
            [codec, f"{small / 1e6:.1f} M/s", f"{small / middle:.2f}", f"{small / large:.2f}"]
        )
    return rows


def main() -> None:
    """Print the tables."""
    root = str(made(LOGS))
    columns = ["command", "elapsed", "CPU", "memory", "bound by"]
    with tempfile.TemporaryDirectory() as folder:
        page = {"report": (f"{folder}/report.html", "--overwrite")}
        rows = [
            [name, *shown(waited(name, root, *page.get(name, ()))), bound]
            for name, bound in OVER_LOGS.items()
        ]
        table(f"{LOGS:,} partitions of two segments", columns, rows)
        rows = over_json(json_log(), Path(folder))
    table(f"{RECORDS / 1e6:.1f} million JSON records of 145 bytes", columns, rows)
    title = "batches of two or three records, file to Arrow"
    table(title, ["codec", "records", "of 16 KiB", "of 64 KiB"], small_batches())


if __name__ == "__main__":
    main()
