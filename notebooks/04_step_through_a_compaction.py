# %% [markdown]
# # Step through a compaction
#
# A compacted topic keeps the newest record of each key. That is simple to say, and the way there
# has turns: deletes that wait for a day, transactions, lags. Here the engine cleans a log as
# Kafka's log cleaner does, and tells each step. At the end you can say for any record why it is
# there.
#
# Everything lies in a temporary directory, the clock stands still until it is moved, and every
# cleaning but the last is done on a copy in memory: files stay as they are.

# %%
import os
import random
import tempfile

import pandas as pd

import workbench as wb
from widgets import CleanerView, CompactionPlayer
from workbench.cleaner.config import CleanerConfig
from workbench.log.append_origin import AppendOrigin
from workbench.log.clock import ManualClock
from workbench.log.scheduler import ManualScheduler
from workbench.record.builder import end_transaction_marker
from workbench.record.memory_records import MemoryRecords

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
# transaction: the first is aborted, the second committed. A roll ends a segment, for the cleaner
# never touches the *active* one.


# %%
def write(*prices: tuple[str, float | None], **producer: int) -> None:
    """Append one batch of prices, an hour after the one before."""
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
# ## What may be cleaned
#
# Nothing was cleaned yet, so everything is *dirty*. Two things bound the cleaner. It keeps off the
# active segment. And `min.compaction.lag.ms`, here half a day, gives consumers time to see every
# price: a segment that holds a younger record waits, with all behind it.

# %%
SATURDAY = clock.now()
CleanerView(PRICES, CONFIG, now=SATURDAY)

# %% [markdown]
# ## The map of newest offsets
#
# A round of cleaning reads the dirty segments twice. First it notes for each key the offset of its
# newest record, in a map of fixed size. Play it, or use the arrow keys.
#
# Two batches give no keys to the map: the aborted transaction, whose prices never counted, and the
# markers that end transactions.

# %%
player = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
player.at = [step.kind for step in player.steps].index("batch not mapped")
player

# %% [markdown]
# ## Kept or dropped
#
# Then it reads every segment below the bound once more, also those that are clean already, and
# asks of each record whether the map has a later offset for its key. The arrow shows which record
# took its place. Segments that fit into one are cleaned into one.

# %%
superseded = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
superseded.go_to(0)
superseded

# %% [markdown]
# Offsets never change. A batch that loses records is written anew, with the same first and last
# offset; one that loses none is copied byte for byte. Of the aborted transaction only a header
# stays: it holds the last sequence number of producer 7, who may come back and send a batch again.

# %%
emptied = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
emptied.at = [step.kind for step in emptied.steps].index("batch emptied")
emptied

# %% [markdown]
# The new segment is written beside the old ones, as `.cleaned`. When it is complete it becomes
# `.swap`, the old ones `.deleted`, and then it loses the suffix. A crash at any moment leaves
# names that tell the next start what to do. At last the checkpoint says where the next round
# begins.

# %%
swapped = CompactionPlayer(PRICES, CONFIG, now=SATURDAY, show_values=True)
swapped.at = [step.kind for step in swapped.steps].index("segment swapped in")
swapped

# %% [markdown]
# ## Tombstones take two rounds
#
# The tombstone of keemun is still there, although nothing is left to delete. A consumer that reads
# the topic from the start might have seen the old price before it was cleaned away, and has to
# learn that the tea is gone. So the first round that finds nothing else of the key writes a
# *delete horizon* into the tombstone's batch: `delete.retention.ms`, a day, from now. A later
# round drops the tombstone when that time has come. Markers of transactions go the same way.
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
# A round needs something dirty. If nothing is written any more, no round comes, and tombstones
# stay for as long as that lasts. That is the usual answer to *why is my tombstone still there*.
#
# ## Why is this record there?
#
# Each record has an answer for each round. In the player, type an offset or a key into the box at
# the top, or click the record.


# %%
def fate(offset: int) -> list[str]:
    """Say what each round did to a record."""
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
# A log is cleaned when it is dirty enough: when more than `min.cleanable.dirty.ratio`, by default
# one half, of its bytes were written since the last round. The filthiest log comes first. Or when
# it has waited too long: `max.compaction.lag.ms` makes it due however clean it is. The first step
# of each player says what it was.

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
# The map has the memory of `log.cleaner.dedupe.buffer.size`, 128 MiB for all threads, or about
# five million keys. When it is full the round ends early, and the next one goes on there. Here it
# holds three keys.

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
# Now the log manager's own cleaner does it, on the files: once on Saturday, once two days later.
# What is left is what the player has shown.

# %%
for name, moment in zip(["round 1", "round 2"], TIMES, strict=True):
    clock.set(moment)
    manager.cleaner.clean_filthiest()
    left = wb.open_log_directory(DATA).scan(columns=["offset"]).to_pandas().offset.tolist()
    stays = table.index[~table[name].str.startswith(("dropped", "gone"))].tolist()
    print(f"{name}: offsets {left} are left, as was shown: {left == stays}")
manager.shutdown()

# %% [markdown]
# ## Next
#
# - `wb.open_log_directory(…)["topic-0"].plan_cleaning()` gives the same decisions as columns, for
#   millions of records.
# - A player of a large log steps by batches, or by segments, and shows the records of each.
# - `03_why_was_it_not_compacted` asks the rules one by one.
# - `05_retention` is about the other policy, `delete`.
