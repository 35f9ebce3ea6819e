"""A program: everything that works on several threads, all at once, against one thread's results.

Takes a folder that `make_logs` filled, and how often to do it. Prints a line for each result that
differs, and ends with the status 1 then. `test_stress` starts it where it does harm at once to use
memory that is freed.
"""

import hashlib
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

import workbench
from tests.naive import Record, batch
from tests.server.asking import Asker
from tests.spark.tasks import Load
from workbench.loaders.search.search import Search
from workbench.runtime import workers
from workbench.server.protocol.api_keys import FETCH

THREADS: Final = 4 * workers.cores() + 1
"""Of each call; the calls run at the same time."""

CODECS: Final = range(5)
TOPIC: Final = "codec-{}"
RECORDS: Final = 40  # of a batch
LARGE: Final = "large/large-0"
LARGE_BATCHES: Final = 4000
NOW: Final = 1_800_000_000_000
_SEGMENTS: Final = 3

Call = Callable[[Path, int], object]
"""Takes the directory and a number of threads; what it returns is the same for all numbers."""


def make_logs(folder: Path, count: int) -> None:
    """Write a log of each codec, with keys that come again in later batches, and a large one.

    Args:
        folder: empty; `LARGE` is beside the others, since it is only planned to be cleaned.
        count: batches of each codec.
    """
    for codec in CODECS:
        _write(folder / f"{TOPIC.format(codec)}-0", _made(codec, count, 400), RECORDS)
    made = _made(0, count, 80)
    copies = (made * (LARGE_BATCHES // count))[:LARGE_BATCHES]
    _write(
        folder.parent / LARGE,
        [(at * RECORDS).to_bytes(8) + each[8:] for at, each in enumerate(copies)],
        RECORDS,
    )


def _made(codec: int, count: int, size: int) -> list[bytes]:
    """Return batches with values of a size in bytes."""
    chance = np.random.default_rng(codec)
    values = [chance.integers(97, 107, size, np.uint8).tobytes() for _ in range(RECORDS)]
    made = []
    for first in range(0, count * RECORDS, RECORDS):
        keys = chance.integers(0, count * RECORDS // 4, RECORDS).tolist()
        records = [
            Record(first + n, NOW + n, b"key-%d" % key, values[key % RECORDS])
            for n, key in enumerate(keys)
        ]
        made.append(batch(records, codec))
    return made


def _write(folder: Path, made: list[bytes], records: int) -> None:
    """Write batches of so many records as a log of some segments."""
    folder.mkdir(parents=True)
    edges = [len(made) * number // _SEGMENTS for number in range(_SEGMENTS + 1)]
    for low, high in pairwise(edges):
        (folder / f"{low * records:020}.log").write_bytes(b"".join(made[low:high]))


def scan(folder: Path, count: int) -> object:
    return workbench.open_log_directory(folder).scan(workers=count).to_arrow().to_pydict()


def verify(folder: Path, count: int) -> object:
    return workbench.open_log_directory(folder).verify(info=True, workers=count)


def batches(folder: Path, count: int) -> object:
    return workbench.open_log_directory(folder).inspect.batches(workers=count).to_pydict()


def parquet(folder: Path, count: int) -> object:
    target = folder.parent / f"{threading.get_ident()}.parquet"
    scan = workbench.open_log_directory(folder).scan(workers=count)
    scan.to_parquet(target, row_group_bytes=1 << 16)
    return target.read_bytes()


def plan(folder: Path, count: int) -> object:
    """Plan a cleaning: build the map, and filter."""
    config = {"cleanup.policy": "compact", "segment.bytes": 1 << 20}
    logs = workbench.open_log_directory(folder)
    small = [
        logs[f"{TOPIC.format(codec)}-0"].plan_cleaning(config, now=NOW, workers=count)
        for codec in CODECS
    ]
    every = [(each.decisions.to_pydict(), each.batches.to_pydict()) for each in small]
    large = workbench.open_log_directory(folder.parent / LARGE)["large-0"]
    planned = large.plan_cleaning(config, now=NOW, workers=count)
    return (
        every,
        planned.counts(),
        planned.size_after,
        planned.decisions["reason"].value_counts().to_pylist(),
    )


def search(folder: Path, count: int) -> object:
    found = Search(workbench.open_log_directory(folder).scan(where="key:key-1", workers=count))
    found.run()
    assert found.status == "done", found.error
    rows = found.matches.read(found.matches.arranged(), ["topic", "offset", "key", "value"])
    return rows.table.to_pylist()


def serve(folder: Path, count: int) -> object:
    """Fetch all logs by as many clients at once."""
    with workbench.serve(folder) as server:
        return _same(lambda: _fetched(server.bootstrap_servers), count)


def spark(folder: Path, count: int) -> object:
    """Read the tasks of a Spark job, each several times at once."""
    load = Load(folder, maxPartitionBytes=1 << 18)
    return _same(lambda: [load.read(task).to_pydict() for task in load.tasks], count)


def _fetched(where: str) -> list[bytes]:
    """Return the bytes of all logs."""
    found = []
    with Asker(where) as asker:
        for codec in CODECS:
            offset = 0
            while True:
                partition = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 1 << 16}
                topic = {"topic": TOPIC.format(codec), "partitions": [partition]}
                asked = {"sessionEpoch": -1, "topics": [topic]}
                (got,) = asker.ask(FETCH, 11, asked)["responses"][0]["partitions"]
                data = bytes(got["records"] or b"")
                if not data:
                    break
                found.append(data)
                while data:  # whole batches
                    offset = int.from_bytes(data[:8]) + int.from_bytes(data[23:27]) + 1
                    data = data[12 + int.from_bytes(data[8:12]) :]
    return found


CALLS: Final[dict[str, Call]] = {
    each.__name__: each for each in (scan, verify, batches, parquet, plan, search, serve, spark)
}


def digest(result: object) -> str:
    """Return the hash of a result."""
    return hashlib.sha256(
        result if isinstance(result, bytes) else repr(result).encode()
    ).hexdigest()


def _same(call: Callable[[], object], count: int) -> list[str]:
    """Make a call in several threads at once; return the different hashes of its results."""
    found: set[str] = set()

    def run() -> None:
        try:
            found.add(digest(call()))
        except BaseException as error:  # noqa: BLE001 - it differs from a result, too
            found.add(repr(error))

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def main() -> int:
    """Return 1 if a result differs."""
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    workers.SHARE = 1  # type: ignore[misc]  # workers start for files of any size
    expected = {name: [digest(call(folder, 1))] for name, call in CALLS.items()}
    sys.setswitchinterval(1e-4)
    failed = False
    for number in range(rounds):
        found: dict[str, list[str]] = {}

        def run(name: str, call: Call, into: dict[str, list[str]] = found) -> None:
            into[name] = _same(lambda: call(folder, THREADS), 1)

        threads = [threading.Thread(target=run, args=each) for each in CALLS.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, digests in found.items():
            if digests != expected[name]:
                failed = True
                print(f"round {number}: {name}: {digests}, not {expected[name]}")  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
