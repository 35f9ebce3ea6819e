# %% [markdown]
# # Step through a compaction
#
# A compacted topic keeps the newest record of each key. That is simple to say, but the details are
# not simple: deletes that wait for a day, transactions, lags. Here the engine cleans a log as
# Kafka's log cleaner does, and reports each step. At the end you can say for any record why it is
# still there.
#
# All files are in a temporary directory, the clock moves only when we move it, and every cleaning
# except the last works on a copy in memory: the files do not change.

# %%
import os
import random
import tempfile

import pandas as pd

import workbench as wb
from widgets import CleanerView, CompactionPlayer
from workbench.cleaner.config import CleanerConfig
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

HOUR = 3_600_000
DAY = 24 * HOUR
OPENING = 1_764_320_400_000  # ms: Black Friday 2025, 9:00 UTC

home = tempfile.TemporaryDirectory()
DATA = os.path.join(home.name, "data")
PRICES = os.path.join(DATA, "prices-0")
SETTINGS = {
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": 12 * HOUR,
    "min.cleanable.dirty.ratio": 0.1,
}
CONFIG = {f"prices:{name}": value for name, value in SETTINGS.items()}

clock = ManualClock(OPENING)
manager = wb.LogManager(
    [DATA],
    clock=clock,
    scheduler=ManualScheduler(clock),
    rng=random.Random(4),
    topic_configs={"prices": SETTINGS},
)
manager.startup(with_tasks=False)
log = manager.get_or_create_log("prices-0")

# %% [markdown]
# ## A price list
#
# Our tea shop writes a record for each price that changes; the tea is the key. A tea that is no
# longer sold gets a *tombstone*: its key without a value. Some prices change together, in a
# transaction: the first is aborted, the second committed. We roll the log to close a segment,
# because the cleaner never touches the *active* one.


# %%
def write(*prices: tuple[str, float | None], **producer: int) -> None:
    """Append one batch of prices, one hour after the previous batch."""
    clock.advance(HOUR)
    records = [
        (clock.now(), tea.encode(), None if price is None else f"{price:.2f}".encode())
        for tea, price in prices
    ]
    log.append_as_leader(MemoryRecords.of(*records, **producer))
    log.update_high_watermark(log.log_end_offset)


def transaction(producer: int, *prices: tuple[str, float | None], commit: bool) -> None:
    """Append prices in a transaction, and the marker that ends it."""
    options = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
    write(*prices, **options, is_transactional=True)
    marker = end_transaction_marker(0, clock.now(), producer, 0, commit=commit, coordinator_epoch=0)
    log.append_as_leader(marker, origin=AppendOrigin.COORDINATOR)
    log.update_high_watermark(log.log_end_offset)


write(("assam", 3), ("keemun", 4), ("sencha", 5))
write(("assam", 3.2))
write(("oolong", 6), ("keemun", None))
log.roll()
transaction(7, ("sencha", 9), ("oolong", 9), commit=False)
transaction(8, ("darjeeling", 8), commit=True)
write(("oolong", 6.5))
log.roll()

clock.advance(18 * HOUR)
write(("assam", 3.5), ("sencha", 5.5))
log.roll()
write(("darjeeling", 8.4))

wb.open_log_directory(DATA).inspect.segments().to_pandas()[["name", "base_offset", "size"]]

# %% [markdown]
# ## What can be cleaned
#
# Nothing has been cleaned yet, so everything is *dirty*. Two limits apply to the cleaner. It never
# cleans the active segment. And `min.compaction.lag.ms`, here half a day, gives consumers time to
# see every price: a segment with a younger record must wait, and so must all segments after it.

# %%
SATURDAY = clock.now()
CleanerView(PRICES, CONFIG, now=SATURDAY)

# %% [markdown]
# ## The offset map
#
# A round of cleaning makes two passes. The first pass reads the dirty segments and notes the offset
# of each key's newest record in the *offset map*, which has a fixed size. Press play, or use the
# arrow keys.
#
# Two kinds of batches add no keys to the map: those of an aborted transaction, whose prices never
# took effect, and the markers that end transactions.

# %%
player = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
player.at = [step.kind for step in player.steps].index("batch not mapped")
player

# %% [markdown]
# ## Kept or dropped
#
# The second pass reads every cleanable segment, even those that are clean already, and looks up
# each record's key: does the map have a later offset for it? If so, the record is dropped, and the
# arrow shows which record supersedes it. Segments that fit together into one become one.

# %%
superseded = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
superseded.go_to(0)
superseded

# %% [markdown]
# Offsets never change. A batch that loses records is rewritten with the same first and last offset;
# a batch that loses none is copied byte for byte. Of the aborted transaction, only a header is
# kept: it holds the last sequence number of producer 7, which might come back and send a batch
# again.

# %%
emptied = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
emptied.at = [step.kind for step in emptied.steps].index("batch emptied")
emptied

# %% [markdown]
# The cleaner writes the new segment next to the old ones, with the suffix `.cleaned`. When the new
# segment is complete, it is renamed to `.swap` and the old ones to `.deleted`; then it loses the
# suffix. After a crash at any moment, these names show the next start what to do. Finally, the
# checkpoint records where the next round begins.

# %%
swapped = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
swapped.at = [step.kind for step in swapped.steps].index("segment swapped in")
swapped

# %% [markdown]
# ## Tombstones take two rounds
#
# The tombstone of keemun is still there, although nothing is left to delete. A consumer that reads
# the topic from the start might have seen the old price before it was cleaned away, and must learn
# that the tea is no longer sold. So the first round that finds no other record of the key writes a
# *delete horizon* into the tombstone's batch: the current time plus `delete.retention.ms`, one day.
# A round after that time drops the tombstone. Transaction markers are dropped in the same way.
#
# Here are two rounds, two days apart. By then the third segment is old enough to be cleaned.

# %%
TIMES = [SATURDAY, SATURDAY + 2 * DAY]
both = CompactionPlayer(PRICES, CONFIG, now=TIMES, show_values=True)
second = both.rehearsal.rounds[1].first_step
both.at = next(
    number
    for number, step in enumerate(both.steps)
    if number > second and "horizon has passed" in step.reason
)
both

# %% [markdown]
# A round needs dirty records. If nobody writes to the log, no round comes, and the tombstones are
# kept until somebody does. That is the usual answer to *why is my tombstone still there?*
#
# ## Why is this record there?
#
# For each record, every round has an answer. In the player, type an offset or a key into the box at
# the top, or click the record.


# %%
def fate(offset: int) -> list[str]:
    """Return what each round did to a record."""
    texts = []
    for number, reason in enumerate(both.why(offset)):
        if reason is not None:
            texts.append(f"{'kept' if reason.is_kept else 'dropped'}: {reason.text}")
        else:
            texts.append("gone" if number and "dropped" in texts[0] else "not cleaned yet")
    return texts


pd.set_option("display.max_colwidth", None)
found = wb.open_log_directory(DATA).scan(columns=["offset", "key"]).to_pandas()
table = pd.DataFrame(
    [[row.offset, row.key.decode(), *fate(row.offset)] for row in found.itertuples()],
    columns=["offset", "key", "round 1", "round 2"],
).set_index("offset")
table

# %% [markdown]
# ## When a round begins
#
# A log is due for cleaning when it is dirty enough: when more than `min.cleanable.dirty.ratio` of
# its bytes (default: one half) were written since the last round. It is also due when it has waited
# too long, however clean it is: `max.compaction.lag.ms` sets that time. The dirtiest log comes
# first. The first step of each player gives the reason.

# %%
later = SATURDAY + 3 * DAY
cases = {
    "ratio of 0.1": {},
    "ratio of 1": {"prices:min.cleanable.dirty.ratio": 1},
    "ratio of 1, due after a day": {
        "prices:min.cleanable.dirty.ratio": 1,
        "prices:max.compaction.lag.ms": DAY,
    },
    "lag of a week": {"prices:min.compaction.lag.ms": 7 * DAY},
}
for name, settings in cases.items():
    step = CompactionPlayer(PRICES, CONFIG | settings, now=later).steps[0]
    print(f"{name}: {step.kind}: {step.reason}")

# %% [markdown]
# ## When the map is full
#
# The size of the offset map is `log.cleaner.dedupe.buffer.size`: 128 MiB for all threads, or about
# five million keys. When the map is full, the round ends early, and the next round continues from
# there. Here the map holds three keys.

# %%
tiny = CompactionPlayer(
    PRICES,
    CONFIG,
    now=[later] * 3,
    cleaner=CleanerConfig(map_memory=4 * 24, load_factor=0.75),
    show_values=True,
)
tiny.at = [step.kind for step in tiny.steps].index("map full")
tiny

# %% [markdown]
# ## The same for real
#
# Now the log manager's own cleaner cleans the files: once on Saturday, once two days later. The
# records that are left are those that the player has shown.

# %%
for name, moment in zip(["round 1", "round 2"], TIMES, strict=True):
    clock.set(moment)
    manager.cleaner.clean_filthiest()
    left = wb.open_log_directory(DATA).scan(columns=["offset"]).to_pandas().offset.tolist()
    kept = table.index[~table[name].str.startswith(("dropped", "gone"))].tolist()
    print(f"{name}: offsets {left} are left, as the player showed: {left == kept}")
manager.shutdown()

# %% [markdown]
# ## Next
#
# - `wb.open_log_directory(…)["topic-0"].plan_cleaning()` gives the same decisions as columns, for
#   millions of records.
# - A player of a large log steps by batches, or by segments, and shows the records of each.
# - `03_why_was_it_not_compacted` applies the rules one by one.
# - `05_retention` is about the other cleanup policy, `delete`.
