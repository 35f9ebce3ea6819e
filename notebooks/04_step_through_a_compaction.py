# %% [markdown]
# # Step through a compaction
#
# Why is this record still there, and why is that one gone?
#
# A compacted topic keeps the newest record of each key. That is simple to say, but the details are
# not simple: deletes that wait for a day, transactions, lags. Here the engine cleans a log as
# Kafka's log cleaner does, and reports each step. At the end you can say for any record why it is
# still there.
#
# All files are in a temporary directory, the clock moves only when we move it, and every cleaning
# except the last works on a copy in memory: the files do not change.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import random
import shutil
import tempfile
import threading

import pandas as pd

import workbench as wb
from widgets import CleanerView, CompactionPlayer, RecoveryPlayer, follow_theme

follow_theme()  # charts and tables look as the page does

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

clock = wb.engine.ManualClock(OPENING)
manager = wb.LogManager(
    [DATA],
    clock=clock,
    scheduler=wb.engine.ManualScheduler(clock),
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


# %% jupyter={"source_hidden": true}
def write(*prices: tuple[str, float | None], **producer: int) -> None:
    """Append one batch of prices, one hour after the previous batch."""
    clock.advance(HOUR)
    records = [
        (clock.now(), tea.encode(), None if price is None else f"{price:.2f}".encode())
        for tea, price in prices
    ]
    log.append_as_leader(wb.engine.MemoryRecords.of(*records, **producer))
    log.update_high_watermark(log.log_end_offset)


def transaction(producer: int, *prices: tuple[str, float | None], commit: bool) -> None:
    """Append prices in a transaction, and the marker that ends it."""
    options = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
    write(*prices, **options, is_transactional=True)
    marker = wb.engine.end_transaction_marker(
        0, clock.now(), producer, 0, commit=commit, coordinator_epoch=0
    )
    log.append_as_leader(marker, origin=wb.engine.AppendOrigin.COORDINATOR)
    log.update_high_watermark(log.log_end_offset)


# %%
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
# ## A crash in the middle
#
# Let us try that. Here the engine cleans a copy for real, and an observer copies the directory at
# each moment that matters, as a power failure would leave it. Then the engine starts on each of
# these copies.


# %% jupyter={"source_hidden": true}
def manager_of(path: str, observer: wb.engine.Observer) -> wb.LogManager:
    """Return a log manager of a copy, at the same time and with the same settings."""
    then = wb.engine.ManualClock(SATURDAY)
    return wb.LogManager(
        [path],
        clock=then,
        scheduler=wb.engine.ManualScheduler(then),
        rng=random.Random(4),
        observer=observer,
        topic_configs={"prices": SETTINGS},
    )


MOMENTS = {"segment cleaned", "segment ready to swap", "segment marked deleted"}
crashes = []


def copy_at(step: wb.engine.Step) -> None:
    """Copy the directory in the middle of its cleaning."""
    if step.kind in MOMENTS | {"segment swapped in"}:
        target = os.path.join(home.name, f"crash-{len(crashes)}")
        crashes.append((step.kind, shutil.copytree(CLEANED, target)))


CLEANED = shutil.copytree(DATA, os.path.join(home.name, "cleaned"))
with manager_of(CLEANED, copy_at) as second_manager:
    compacted = second_manager.get_log("prices-0")
    slice_before = compacted.read(0)  # a range of the file, whose bytes are not read yet
    second_manager.cleaner.clean_filthiest()
    slice_after = compacted.read(0)

rows = []
for kind, path in crashes:
    names = sorted(os.listdir(os.path.join(path, "prices-0")))
    told = []
    restarted = shutil.copytree(path, f"{path}-restarted")
    with manager_of(restarted, told.append):
        pass
    done = pd.Series([step.kind for step in told]).value_counts()
    scan = wb.open_log_directory(restarted).scan(isolation_level="read_uncommitted")
    rows.append(
        {
            "crash after": kind,
            ".cleaned": sum(name.endswith(".cleaned") for name in names),
            ".swap": sum(name.endswith(".swap") for name in names),
            ".deleted": sum(name.endswith(".deleted") for name in names),
        }
        | {each: done.get(each, 0) for each in ("leftover removed", "swap completed")}
        | {"records": scan.count()}
    )
pd.DataFrame(rows)

# %% [markdown]
# All 13 records, or the 8 that the cleaning leaves: never anything in between. As long as a file
# is `.cleaned`, a start undoes the replacement; once all are `.swap`, it completes it. The player
# shows such a start, after the first old segment was marked deleted.

# %%
interrupted = next(path for kind, path in crashes if kind == "segment marked deleted")
restart = RecoveryPlayer(os.path.join(interrupted, "prices-0"))
restart.at = [step.kind for step in restart.steps].index("swap found")
restart

# %% [markdown]
# **A reader beside the swap.** A reader that got its slice of the file before the swap still reads
# the old records afterwards: the file was renamed, and an open file stays readable. A new read gets
# the new segment.

# %%
print(f"{slice_before.size} bytes from {len(slice_before.records.batches())} old batches;",
      f"a new read gets {slice_after.size} bytes")  # fmt: skip

# %% [markdown]
# ## Paused and aborted
#
# The cleaner must not work on a log that is truncated, moved or deleted. So these first *abort* its
# cleaning and *pause* it: the cleaner checks between two reads whether it must end, removes what it
# has written, and does not take the log again before it is *resumed*. Here, a second thread does so
# in the middle of a cleaning.

# %% jupyter={"source_hidden": true}
ABORTED = shutil.copytree(DATA, os.path.join(home.name, "aborted"))
states = []
threads = []


def note_state(moment: str) -> None:
    """Keep the cleaning state of the log, and how many files are .cleaned."""
    state = third_manager.cleaner.manager.cleaning_state(log.topic_partition)
    names = os.listdir(os.path.join(ABORTED, "prices-0"))
    states.append(
        {
            "moment": moment,
            "state": "–" if state is None else state.name,
            ".cleaned files": sum(name.endswith(".cleaned") for name in names),
            "clean up to": third_manager.cleaner.manager.checkpoints.all().get(log.topic_partition),
        }
    )


def abort_at(step: wb.engine.Step) -> None:
    """Abort the first cleaning when one segment is done."""
    if step.kind == "segment cleaned" and not threads:
        note_state("the first segment is cleaned")
        schedule = third_manager.cleaner.manager
        abort = schedule.abort_and_pause_cleaning
        threads.append(threading.Thread(target=abort, args=[log.topic_partition]))
        threads[0].start()
        while schedule.cleaning_state(log.topic_partition).name == "in progress":
            pass  # until the other thread has asked
        note_state("another thread asks to abort")


with manager_of(ABORTED, abort_at) as third_manager:
    third_manager.cleaner.clean_filthiest()
    threads[0].join()
    note_state("the cleaning has ended")
    third_manager.cleaner.clean_filthiest()
    note_state("another round finds nothing")
    third_manager.cleaner.manager.resume_cleaning([log.topic_partition])
    third_manager.cleaner.clean_filthiest()
    note_state("resumed, and a round later")
pd.DataFrame(states).convert_dtypes().set_index("moment")

# %% [markdown]
# ## Tombstones take two rounds
#
# The tombstone of keemun is still there, although nothing is left to delete. A consumer that reads
# the topic from the start might have seen the old price before it was cleaned away, and must learn
# that the tea is no longer sold. So the first round that finds no other record of the key writes a
# *delete horizon* into the tombstone's batch: the current time plus `delete.retention.ms`, one day.
# A round after that time drops the tombstone. Transaction markers are dropped in the same way.
# Batches of magic 0 and 1 have no room for a delete horizon, nor had any before 3.1: there a
# tombstone is dropped once its file is older than the last clean segment's by
# `delete.retention.ms`, by the modification times of the files.
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
# A round needs dirty records. If no producer writes to the log, there is no round, and the
# tombstones are kept until one does. That is the usual answer to *why is my tombstone still there?*
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
found = (
    wb.open_log_directory(DATA)
    .scan(columns=["offset", "key"], isolation_level="read_uncommitted")
    .to_pandas()
)
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
# The size of the offset map is `log.cleaner.dedupe.buffer.size` (default: 128 MiB for all threads,
# which is about five million keys). When the map is full, the round ends early, and the next round
# continues from there. Here the map holds three keys.

# %%
tiny = CompactionPlayer(
    PRICES,
    CONFIG,
    now=[later] * 3,
    cleaner=wb.engine.CleanerConfig(map_memory=4 * 24, load_factor=0.75),
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
    left = (
        wb.open_log_directory(DATA)
        .scan(columns=["offset"], isolation_level="read_uncommitted")
        .to_pandas()
        .offset.tolist()
    )
    kept = table.index[~table[name].str.startswith(("dropped", "gone"))].tolist()
    print(f"{name}: offsets {left} are left, as the player showed: {left == kept}")
manager.shutdown()

# %% [markdown]
# ## Try it
#
# A click opens an answer. To run its code, copy it into the cell below and press Shift+Enter.
#
# **1.** In the player with two rounds, type *oolong* into the box *Go to key or offset*. Each Enter
# goes to the next step of the key. It has three records: 4, 7 and 11. What happens to offset 7, and
# why is it not the one that supersedes offset 4?
#
# <details>
# <summary>Answer</summary>
#
# Offset 7 is dropped, because its transaction was aborted; its key never came into the map. Offset
# 4 is superseded by **11**.
#
# ```python
# for step in both.steps:
#     if step.kind == "record dropped" and step.numbers["offset"] in (4, 7):
#         print(step.numbers["offset"], step.reason)
# ```
#
# ```output
# 4 superseded by offset 11, of the same key
# 7 the record's transaction was aborted
# ```
#
# </details>
#
# **2.** In the same player, how many records does the first round drop, and how many does the
# second? Step through them, or choose *record dropped* among the steps.
#
# <details>
# <summary>Answer</summary>
#
# **5**, then **3**: by the second round the third segment can be cleaned, and the tombstone's
# delete horizon has passed.
#
# ```python
# before, after = sorted({row["records"] for row in rows}, reverse=True)  # of the crashes
# print(f"{before} records, {after} after round 1, {len(left)} after round 2")
# print([before - after, after - len(left)])
# ```
#
# ```output
# 13 records, 8 after round 1, 5 after round 2
# [5, 3]
# ```
#
# </details>
#
# **3.** The map with three keys is full before the end of the dirty section. How many rounds does
# it take up to offset 13?
#
# <details>
# <summary>Answer</summary>
#
# **3** rounds; they end at offsets 3, 9 and 13. With a larger map, one round is enough.
#
# ```python
# print([step.numbers["end_offset"] for step in tiny.steps if step.kind == "log cleaned"])
# ```
#
# ```output
# [3, 9, 13]
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `wb.open_log_directory(…)["topic-0"].plan_cleaning()` gives the same decisions as columns, for
#   millions of records.
# - A player of a large log steps by batches, or by segments, and shows the records of each.
# - [Why was it not compacted?](03_why_was_it_not_compacted.ipynb) applies the rules one by one.
# - [Retention](05_retention.ipynb) is about the other cleanup policy, `delete`.
