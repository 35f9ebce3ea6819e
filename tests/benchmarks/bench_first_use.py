"""Starts, in CPU seconds of a fresh process: imports, commands on 5 MB, first records, peers.

Peers are what people compare with: the import of DuckDB, Polars and pandas, and their first row of
a small Parquet file.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.bench_engine_load import made
from tests.benchmarks.measure import PARTITIONS, table
from tests.browser.bridge import chromium
from tests.e2e.apps import end, start

ROUNDS = 3
SHOP = str(Path(__file__).parents[2] / "sample_data" / "shop-4.3.1")
COMMAND = [str(Path(sys.executable).with_name("kafka-workbench"))]
PYTHON = [sys.executable, "-c"]
WARM = {
    "--help": ["--help"],
    "ls": ["ls", SHOP],
    "dump, one record": ["dump", SHOP, "-n", "1"],
    "groups": ["groups", SHOP],
    "explain": ["explain", SHOP],
    "predict": ["predict", SHOP],
    "search": ["search", SHOP, "O-48212"],
    "verify": ["verify", SHOP],
}
BOUNDS = {
    "--help": "importing click",
    "ls": "importing numpy and rich",
    "dump, one record": "importing pyarrow",
    "groups": "importing pyarrow",
    "explain": "loading the log in the engine",
    "predict": "loading every log, and reading as a consumer",
    "search": "importing pyarrow, then decoding every record",
    "verify": "decoding every record",
}
WHOLE = """() => {
  const cards = [...document.querySelectorAll(".klw-overcard:not([hidden])")];
  return cards.every((card) => ["done", "asks"].includes(card.dataset.state));
}"""
"""Whether every card is there, or asks before it reads much."""
READ = "import workbench as w; w.open_log_directory(PATH).scan(limit=1).to_arrow()"
SPARK = """
import workbench as w
spark = w.spark.session(1)
spark.sparkContext.setLogLevel("ERROR")
def measure(batches):
    import time
    import pyarrow as pa
    rows = sum(batch.num_rows for batch in batches)
    yield pa.record_batch({"rows": [rows], "cpu": [time.process_time()]})
found = w.spark.map_batches(spark, PATH, measure, "rows bigint, cpu double", subscribe="orders")
print(max(row["cpu"] for row in found.collect()))
"""


def cpu_of(command: list[str]) -> float:
    """Return the CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(command: list[str]) -> str:
    """Return the best of several rounds as text."""
    return f"{min(cpu_of(command) for _ in range(ROUNDS)):.2f} s"


def cold_worker() -> str:
    """Return the CPU time of a Spark worker at the end of its first task."""
    words = [*PYTHON, with_path(SPARK)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return f"{float(done.stdout.split()[-1]):.2f} s"


def with_path(code: str) -> str:
    """Put the sample's path into code."""
    return code.replace("PATH", repr(SHOP))


def peers() -> list[list[str]]:
    """Return rows of what other libraries take."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/orders.parquet"
        write = f"import workbench as w; w.open_log_directory({SHOP!r}).scan('orders')"
        cpu_of([*PYTHON, f"{write}.to_parquet({file!r})"])
        reads = {
            "duckdb": f'import duckdb; duckdb.sql("from {file!r} limit 1").fetchall()',
            "polars": f"import polars; polars.read_parquet({file!r}, n_rows=1)",
            "pandas": f"import pandas; pandas.read_parquet({file!r}).head(1)",
        }
        return [
            [name, best([*PYTHON, f"import {name}"]), best([*PYTHON, code])]
            for name, code in reads.items()
        ]


def pictures(path: str, rounds: int = ROUNDS) -> list[list[str]]:
    """Return rows of how long after the command the app of a directory is there: elapsed time."""
    found = []
    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder)) as browser:
        page = browser.new_page()
        for _ in range(rounds):
            began = time.perf_counter()
            app = start(Path(path), Path(folder))
            address = time.perf_counter() - began
            page.goto(app.address)
            page.wait_for_selector(".klw-overcard:not([hidden])")
            picture = time.perf_counter() - began
            page.wait_for_function(WHOLE)
            found.append((address, picture, time.perf_counter() - began))
            page.goto("about:blank")
            end(app)
    names = "its address", "its first picture", "the whole overview"
    return [
        [name, f"{min(times):.1f} s"]
        for name, times in zip(names, zip(*found, strict=True), strict=True)
    ]


def main() -> None:
    """Print the tables."""
    own = ["workbench", best([*PYTHON, "import workbench"]), best([*PYTHON, with_path(READ)])]
    table("libraries, CPU", ["", "import", "first record or row"], [own, *peers()])
    rows = [[name, best([*COMMAND, *given]), BOUNDS[name]] for name, given in WARM.items()]
    table("commands on 5 MB, CPU", ["command", "CPU", "bound by"], rows)
    table("Spark, CPU", ["", "CPU"], [["first task of a cold worker", cold_worker()]])
    columns = ["from the command to", ""]
    table("app on 5 MB, elapsed time", columns, pictures(SHOP))
    table(
        f"app on {PARTITIONS:,} partitions, elapsed time",
        columns,
        pictures(str(made(PARTITIONS)), 2),
    )


if __name__ == "__main__":
    main()
