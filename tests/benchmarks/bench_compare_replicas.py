"""Two equal logs of 1 GiB compared: against reading both with their CRCs."""

import shutil

import workbench as wb
from tests.benchmarks.measure import FOLDER, Timing, best_of, generated, in_turn, table
from workbench.comparison.batches import parts_of

SIZE = 1 << 30


def main() -> None:
    """Print the table."""
    first = generated("none", 1000, SIZE).parent
    second = FOLDER / "replica" / first.name
    if not second.exists():
        shutil.copytree(first, second)
    brokers = {1: first, 2: second}
    partitions = [next(iter(wb.open_log_directory(path).values())) for path in brokers.values()]

    def compare(*, deep: bool) -> int:
        (each,) = wb.compare_replicas(brokers, deep=deep)
        assert each.divergence_offset is None
        assert not any(pair.decoded_batches for pair in each.pairs)
        return each.pairs[0].equal_batches

    def check_crcs() -> int:
        parts = (part for each in partitions for part in parts_of(each, check_crc=True))
        return sum(int(part.sound.sum()) for part in parts)

    def read() -> int:
        segments = (segment for each in partitions for segment in each.segments)
        return sum(len(chunk.columns) for each in segments for chunk in each.read(options=0))

    def timed(deep: bool) -> Timing:  # noqa: FBT001 - a table of two
        return best_of(lambda: compare(deep=deep), 3)

    deep, quick, crcs, records = in_turn(
        lambda: timed(True),  # noqa: FBT003
        lambda: timed(False),  # noqa: FBT003
        lambda: best_of(check_crcs, 3),
        lambda: best_of(read, 3),
    )
    columns = ["batches", "compare", "headers alone", "of CRCs of both", "of reading both with CRC"]
    row = [
        deep.records,
        f"{deep.cpu * 1000:.0f} ms CPU, {deep.wall * 1000:.0f} ms wall",
        f"{quick.cpu * 1000:.0f} ms CPU",
        f"{deep.cpu / crcs.cpu:.2f}x CPU",
        f"{deep.cpu / records.cpu:.2f}x CPU",
    ]
    table("two equal logs of 1 GiB compared: times", columns, [row])


if __name__ == "__main__":
    main()
