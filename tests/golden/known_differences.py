"""Where brokers left something else than the engine by the rules of their version.

`config.broker_rules` has what changed from version to version and matters for records. The rows are
what is not modeled, or not the log layer's; they keep the comparison strict in all that they do not
name. `.log` files are named in one row only.
"""

import re
from typing import Final, NamedTuple

from tests.golden.directories import Difference
from tests.golden.pairs import Pair

ALWAYS: Final = (99,)


class Known(NamedTuple):
    """A difference that has a reason.

    Attributes:
        before: the first version that does it as 4.2 does.
        kind, partition, text: regular expressions for the whole kind and the beginning of the rest.
        reason: what was changed in Kafka, or is not the log layer's.
    """

    before: tuple[int, ...]
    kind: str
    partition: str
    text: str
    reason: str


KNOWN: Final = (
    # what the archives do not have, and what is not done by the log layer
    Known(ALWAYS, "partition", "dmg-metadata-rm-0$", "is gone",
          "the broker makes an empty log in place of the one it set aside"),
    Known(ALWAYS, "partition", "crash-default-index-0$", "is gone",
          "4.2.0-crash-produce-1 does not hold it as it was before"),
    Known(ALWAYS, "partition", "(__consumer_offsets|r-compact-delete)-", "is gone",
          "made, or cleaned, while the broker ran"),
    Known(ALWAYS, "partition", r"d-(zero|garbage)-tail-0$", "is gone",
          "the broker does not start with it; afterwards it is the undamaged one"),
    Known((4, 2), "leftover", r"dmg-metadata-rm-0.*stray$", "leader-epoch-checkpoint.tmp is gone",
          "3.9.1 was writing the file while it renamed the folder"),
    Known((3, 0), "leftover", "dmg-epoch-tmp-left-0$", "leader-epoch-checkpoint.tmp is too much",
          "a broker writes leader epochs at each start, the engine when they change"),
    Known(ALWAYS, "leftover", "dmg-none-0$", r"\d+\.snapshot\.deleted is too much",
          "with the log start behind the log's end Kafka forgets which snapshots to rename "
          ".deleted, and removes them later as strays"),
    # the end of a log
    Known((0, 11), "recovery-point.*", r"d-(cut|empty|flip)-", r"\d+, not \d+",
          "a recovery point behind the end of a log that was cut stayed there"),
    Known((0, 10), "log", "d-garbage-tail-0$", "",
          "0.9 died of a lack of memory for the size that the garbage tells; afterwards it is the "
          "undamaged one"),
    # producers
    Known((2, 8), "snapshot", "", "",
          "only the snapshots of the last two segments and of the end were kept; the time of a "
          "marker did not count as the producer's; there were none before 0.11"),
    Known((3, 0), "snapshot|leftover",
          "(epochs|records-deleted-all|size-0|time-all-old|time-hour)-0$",
          r"snapshot \d+ is gone|\d+\.snapshot\.deleted is too much",
          "snapshots of the segments that retention deletes stayed"),
    # transactions
    Known((2, 8), "txnindex", "d-(deleted-files|swap-only)-0$", "",
          "with the segment gone in which a transaction began, its abort was indexed otherwise"),
    # leader epochs
    Known((2, 8), "epochs", r"d-no-epochs-0$", "",
          "the epochs of batches before the last one were not taken over"),
    # indexes
    Known((2, 0), "index", "", "",
          "entries held the first offset of a batch"),
    Known((0, 10, 1), "timeindex|leftover", "", r"timeindex \d+ is too|\d+\.timeindex\.del",
          "there were none"),
    Known((2, 8), "timeindex", "d-odd-timeindex-0$", r"timeindex \d+: 2 entries",
          "an index that is not used was opened, and cut to whole entries"),
    Known((3, 0), "index|timeindex", "(size-0|time-all-old)-0$", r"(time)?index 105 is too much",
          "the indexes of an empty segment that is never used were not made"),
)  # fmt: skip


KNOWN_OF_CLEANING: Final = (
    Known((1, 0), "marker", "c-txn-dr1-0$", "99 is too much",
          "0.11 dropped an abort marker one round earlier; why is not found yet"),
    Known((2, 3), "txnindex", "c-txn", ".* is too much",
          "the index lost aborted transactions whose markers stay"),
)  # fmt: skip


def unexplained(
    pair: Pair, found: list[Difference], known: tuple[Known, ...] = KNOWN
) -> list[Difference]:
    """Return the differences that no row explains."""
    return [each for each in found if not any(_explains(row, pair, each) for row in known)]


def _explains(row: Known, pair: Pair, difference: Difference) -> bool:
    return (
        pair.number < row.before
        and re.fullmatch(row.kind, difference.kind) is not None
        and re.match(row.partition, difference.partition) is not None
        and re.match(row.text, difference.text) is not None
    )
