"""Ten thousand partitions: listing and log end offsets against a broker's own loading."""

import shutil

from tests.benchmarks.measure import FOLDER, PARTITIONS, best_of, peer, table
from workbench.inspection.listing import list_log_directories


def main() -> None:
    """Print the table."""
    root = FOLDER / f"partitions-{PARTITIONS}"
    if not (root / ".kafka_cleanshutdown").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        peer("partitions", str(root), str(PARTITIONS))
    broker = peer("load", str(root))

    def opened() -> int:
        return len(list_log_directories(root).partitions)

    def listed() -> int:
        return sum(len(p.segments) for p in list_log_directories(root).partitions.values())

    def with_ends() -> int:
        return sum(p.log_end_offset for p in list_log_directories(root).partitions.values())

    rows = []
    for name, run in (
        ("open", opened),
        ("list every segment", listed),
        ("with log end offsets", with_ends),
    ):
        mine = best_of(run, 3)
        rows.append([name, f"{mine.wall:.2f} s", f"1/{broker.wall / mine.wall:.0f}"])
    title = f"{PARTITIONS} partitions; a broker's loadLogs takes {broker.wall:.1f} s"
    table(title, ["what", "wall", "of the broker"], rows)


if __name__ == "__main__":
    main()
