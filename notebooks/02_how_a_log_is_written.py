# %% [markdown]
# # How a log is written
#
# How does a record become bytes on a disk, and what is left of them after a crash?
#
# The workbench has its own engine, which writes logs as a broker does, byte for byte. It reports
# each step to an observer, with the numbers that led to it. So you can see how batches, index
# entries and segments are created, what a crash leaves behind, and what retention deletes.
#
# All files are in a temporary directory. The clock moves only when we move it, and the random
# numbers are seeded, so every run shows the same.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import json
import os
import random
import shutil
import tempfile
from uuid import UUID

import ipywidgets
import matplotlib.pyplot as plt
import pandas as pd

import workbench as wb
from widgets import LogExplorer, LookupPlayer, RecoveryPlayer, Stack, StepPlayer, follow_theme

follow_theme()  # charts and tables look as the page does

MINUTE, HOUR = 60_000, 3_600_000
OPENING = 1_764_320_400_000  # ms: Black Friday 2025, 9:00 UTC

home = tempfile.TemporaryDirectory()
DATA = os.path.join(home.name, "data")
ORDERS = os.path.join(DATA, "orders-0")

clock = wb.engine.ManualClock(OPENING)
chance = random.Random(4)
steps = []

manager = wb.LogManager(
    [DATA],
    clock=clock,
    scheduler=wb.engine.ManualScheduler(clock),
    rng=chance,
    observer=steps.append,
    topic_configs={"orders": {"segment.bytes": 32_768, "segment.ms": 6 * HOUR}},
)
manager.startup(with_tasks=False)
topic_id = UUID(int=chance.getrandbits(128), version=4)
log = manager.get_or_create_log("orders-0", topic_id=topic_id)

# %% [markdown]
# ## One record
#
# Our tea shop sells something every minute or so. Each sale is appended as a batch of its own; a
# busy producer would put many records into one batch. There is only one replica, so each record is
# committed as soon as it is written.


# %%
def sell(count: int) -> None:
    """Append orders, each a little later than the one before."""
    for _ in range(count):
        clock.advance(chance.randrange(1_000, 90_000))
        order = {
            "tea": chance.choice(["Assam", "Darjeeling", "Keemun", "Sencha"]),
            "grams": chance.randrange(50, 500, 50),
            "note": "so good " * chance.randrange(30, 130),
        }
        customer = f"customer-{chance.randrange(40)}"
        log.append([(customer.encode(), json.dumps(order).encode())])
    log.update_high_watermark(log.log_end_offset)


steps.clear()
sell(1)
for step in steps:
    print(step)

# %% [markdown]
# Three things happened. The log noted the offset at which this *leader epoch* began. It wrote the
# batch at the start of the file. And it added no index entry: there is nothing before the batch to
# skip.
#
# ## Batches and index entries
#
# A player shows these steps one after the other. Press play or the arrow keys, or click a step in
# the list.

# %%
sell(19)
player = StepPlayer(steps, ORDERS, title="Append to orders-0")
player

# %% [markdown]
# Run the next cell as often as you like: the player shows the new steps.

# %%
sell(1)
player.show(steps, ORDERS)
print(player.step)

# %% [markdown]
# The index is *sparse*: only some batches have an entry. A batch gets one when more than
# `index.interval.bytes` (default: 4,096 bytes) were written since the last entry. The engine gives
# its reason each time:

# %%
decisions = [step for step in steps if step.kind.startswith("index entry")]
frame = pd.DataFrame(
    [
        [step.numbers["offset"], step.numbers["position"], step.kind.split()[-1], step.reason]
        for step in decisions
    ],
    columns=["offset", "position", "entry", "reason"],
).set_index("offset")
pd.set_option("display.max_colwidth", None)
frame.head(16)

# %% [markdown]
# Each time an entry is due, both indexes get one. An entry of the *offset index* gives the position
# of the batch with this offset. An entry of the *time index* says that no record up to this offset
# is later than this time. A late record, older than the records before it, does not change that.

# %%
inspect = wb.open_log_directory(DATA).inspect
offset_columns = ["entry", "offset", "relative_offset", "position"]
offset_index = inspect.offset_index().to_pandas()[offset_columns]
time_index = inspect.time_index().to_pandas()[["entry", "timestamp", "offset"]]
offset_index.merge(time_index, on="entry", suffixes=("", "_in_time_index")).set_index("entry")

# %% [markdown]
# ## A new segment
#
# A log *rolls*, that is, closes its segment and begins a new one, when the next batch would make
# the segment too large, when the segment is too old, or when an index is full. After the roll, the
# log flushes the old segment to disk and moves the *recovery point* up to its end: everything
# before the recovery point is safe.

# %%
sell(30)
clock.advance(6 * HOUR)
sell(12)
for step in steps:
    if step.kind in {"rolled", "flushed"}:
        print(step.kind, "-", step.reason or step.numbers)

# %%
rolled = max(number for number, step in enumerate(steps) if step.kind == "rolled")
StepPlayer(steps, ORDERS, title="Append to orders-0, and roll", at=rolled)

# %% [markdown]
# On disk this is an ordinary log directory, and the explorer from the first notebook opens it.

# %%
LogExplorer(DATA, selected={"partition": "orders-0", "segment": 0})

# %% [markdown]
# ## Many logs that roll at once
#
# Partitions that are created together, and get records all the time, also roll together: with
# `segment.ms` alone, a broker with thousands of them flushes thousands of segments in one moment.
# `segment.jitter.ms` (for the broker, `log.roll.jitter.ms`) makes each segment's time shorter by a
# random part of it. Here are eight logs with a record every five minutes, without and with a jitter
# of two hours.


# %% jupyter={"source_hidden": true}
def rolls(jitter_ms: int) -> list[tuple[float, str]]:
    """Return when eight logs roll, in hours after their first record, and the engine's reasons."""
    found = []
    now = wb.engine.ManualClock(OPENING)

    def watch(step: wb.engine.Step) -> None:
        if step.kind == "rolled":
            found.append(((now.now() - OPENING) / HOUR, step.reason))

    with tempfile.TemporaryDirectory() as scratch:
        topics = {"sales": {"segment.ms": 6 * HOUR, "segment.jitter.ms": jitter_ms}}
        several = wb.LogManager(
            [scratch],
            clock=now,
            scheduler=wb.engine.ManualScheduler(now),
            rng=random.Random(8),
            observer=watch,
            topic_configs=topics,
        )
        several.startup(with_tasks=False)
        partitions = [several.get_or_create_log(f"sales-{number}") for number in range(8)]
        for _ in range(8 * 12):
            for each in partitions:
                each.append([(b"tea", b"Assam")])
            now.advance(5 * MINUTE)
        several.shutdown()
    return found


rolled_at = {"without jitter": rolls(0), "jitter of 2 hours": rolls(2 * HOUR)}
axes = plt.figure(figsize=(10, 1.4)).gca()
for height, (name, found) in enumerate(rolled_at.items()):
    axes.plot([at for at, _ in found], [height] * len(found), "o", alpha=0.6, label=name)
axes.set(yticks=range(2), yticklabels=rolled_at, ylim=(-0.5, 1.5), xlim=(3.5, 7))
axes.set_xlabel("hours after the first record")
axes.spines[["top", "right", "left"]].set_visible(False)

# %%
for name, found in rolled_at.items():
    print(f"{name}: {found[0][1]}")

# %% [markdown]
# ## A crash
#
# Now the power fails. Nothing was closed, and only a part of the last batch reached the disk. To
# get such a directory, we copy ours and truncate the last file.

# %%
CRASHED = os.path.join(home.name, "crashed")
shutil.copytree(DATA, CRASHED)
last = wb.open_log_directory(CRASHED)["orders-0"].segments[-1]
os.truncate(last.path, last.size - 300)

for finding in wb.verify(CRASHED):
    print(f"{finding.kind}: {finding.found}.\n{finding.broker}")

# %% [markdown]
# At the next start the broker finds no clean shutdown file, so it *recovers* the log, starting at
# the recovery point. It checks each batch: is the size plausible, is the checksum valid? On the way
# it rebuilds the indexes. At the first invalid or incomplete batch, it truncates the log. The
# player shows what the engine does on a copy; your files do not change.

# %%
recovery = RecoveryPlayer(os.path.join(CRASHED, "orders-0"), recovery_point=log.recovery_point)
recovery.at = [step.kind for step in recovery.steps].index("segment recovered")
recovery

# %% [markdown]
# Recovery did not even read the segments before the recovery point. If the recovery point is lost,
# for example with its checkpoint, recovery reads everything.

# %%
whole = RecoveryPlayer(os.path.join(CRASHED, "orders-0"), recovery_point=0)
print(f"{len(recovery.steps)} steps with the recovery point, {len(whole.steps)} without")

# %% [markdown]
# Now for real: a log manager starts on the directory, recovers it, and shuts down cleanly.
# Afterwards `verify` has no findings.

# %%
with wb.LogManager([CRASHED], clock=clock, scheduler=wb.engine.ManualScheduler(clock)) as restarted:
    recovered = restarted.get_log("orders-0")
    print(f"It ended at {log.log_end_offset}, and now at {recovered.log_end_offset}.")

print(f"{len(wb.verify(CRASHED))} findings")

# %% [markdown]
# ## Finding an offset, finding a time
#
# To read from an offset, a broker first picks the segment that can hold it. It binary-searches the
# offset index for the last entry at or before the offset, then reads batch headers until a batch
# ends at or after it. The numbers below are the compared entries, in order.
#
# The search begins at the *warm section*, the last 8 KiB of an index. Most consumers read near the
# end of the log, so a search within the warm section touches few pages, and those are in memory.
# This index is so small that all of it is warm.

# %%
lookup = LookupPlayer(ORDERS, offset=33)
lookup.at = len(lookup.steps) - 1
lookup

# %% [markdown]
# Finding a time takes two searches: the time index gives the offset to start from, and the offset
# index gives its position. Then the broker reads batches until it finds a record at or after the
# time.

# %%
by_time = LookupPlayer(ORDERS, timestamp=OPENING + 15 * MINUTE)
by_time.at = len(by_time.steps) - 1
by_time

# %% [markdown]
# ## A reader beside a writer
#
# Readers take no lock, so a read can come in the middle of an append: the batch is in the file, but
# the log end offset is not raised yet. A read of the active segment therefore ends at the position
# of the log end offset, not at the end of the file. The observer below reads in these moments, from
# the offset that is being written. The last column is a read without that bound, of the whole file.

# %% jupyter={"source_hidden": true}
race_steps = []


def read_meanwhile(step: wb.engine.Step) -> None:
    """Read from the log in the middle of its append or roll."""
    if step.kind in {"index entry skipped", "rolled", "appended"}:
        active = race.local.segments.active
        unbounded = active.read(wanted, 1 << 20)
        race_steps.append(
            {
                "the writer's step": step.kind,
                "base offset": active.base_offset,
                "bytes in the file": active.size,
                "log end offset": race.log_end_offset,
                "a reader gets": race.read(wanted).size,
                "without the bound": 0 if unbounded is None else unbounded.size,
            }
        )


racing = wb.LogManager(
    [os.path.join(home.name, "race")],
    clock=clock,
    scheduler=wb.engine.ManualScheduler(clock),
    rng=random.Random(2),
    observer=read_meanwhile,
)
racing.startup(with_tasks=False)
race = racing.get_or_create_log("race-0")
wanted = 0
race.append([(b"tea", b"Assam")] * 5)
wanted = race.log_end_offset
race.roll()
race.append([(b"tea", b"Sencha")] * 5)
pd.DataFrame(race_steps)

# %% [markdown]
# Without the bound, a reader in the first moment would get all five records and continue after
# them, while the log is still empty. To the log that is an error, and the consumer would start
# over:

# %%
still_empty = racing.get_or_create_log("empty-0")
try:
    still_empty.read(5)
except wb.OffsetOutOfRangeError as error:
    print(error)
racing.shutdown()

# %% [markdown]
# ## Retention
#
# Two days pass, with a few sales every six hours. Then the shop closes.

# %%
for _ in range(8):
    clock.advance(6 * HOUR)
    sell(chance.randrange(10, 30))
closing = clock.now()

wb.open_log_directory(DATA).inspect.segments().to_pandas()[["name", "base_offset", "size"]]

# %% [markdown]
# Topics keep their records for `retention.ms`, here one day. A segment is deleted as a whole, when
# its *latest* record is too old, and the rule stops at the first segment that is kept. The broker
# first renames the files of a deleted segment to `.deleted`, and removes them a minute later.
#
# Move the slider *hours after closing*. Each time, the notebook opens a fresh copy of the directory
# at that hour and applies retention.


# %% jupyter={"source_hidden": true}
def retain(hours: int) -> None:
    """Show what retention does the given number of hours after closing time."""
    received = []
    now = wb.engine.ManualClock(closing + hours * HOUR)
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(DATA, os.path.join(scratch, "data"))
        later = wb.LogManager(
            [copy],
            clock=now,
            scheduler=wb.engine.ManualScheduler(now),
            observer=received.append,
            topic_configs={"orders": {"retention.ms": 24 * HOUR}},
        )
        later.startup(with_tasks=False)
        kept = later.get_log("orders-0")
        kept.update_high_watermark(kept.log_end_offset)
        received.clear()
        later.delete_old_segments()
        now.advance(MINUTE)
        wanted = [step for step in received if step.kind.startswith("segment")]
        later.shutdown()
    decided = [number for number, step in enumerate(wanted) if step.numbers.get("rule")]
    deleted = sum(step.kind == "segment files removed" for step in wanted)
    about = f"{hours} hours after closing: {deleted} segments deleted"
    retention.show(wanted, ORDERS, about=about, at=decided[-1])


retention = StepPlayer(title="Retention of a day")
hours = ipywidgets.IntSlider(
    6, 0, 36, description="hours after closing", style={"description_width": "initial"},
    layout={"width": "480px"}, continuous_update=False,
)  # fmt: skip
hours.observe(lambda change: retain(change["new"]), names="value")
retain(hours.value)
Stack([hours, retention])

# %% [markdown]
# Each step gives the reason for its verdict:

# %%
for step in retention.steps:
    if step.numbers.get("rule") == "retention.ms":
        print(f"{step.numbers['base_offset']:>4} {step.kind.split()[-1]}: {step.reason}")

# %% [markdown]
# ## Try it
#
# A click opens an answer. To run its code, copy it into the cell below and press Shift+Enter.
#
# **1.** In the first lookup player, type `150` into the box *Offset or time* and press Enter. In
# which segment does the search end, how many index entries does it compare, and how many batch
# headers does it read in vain?
#
# <details>
# <summary>Answer</summary>
#
# Segment **146**. Already the first of its **4** entries is past offset 150, so no other one is
# compared; the scan begins where the segment begins, and reads **4** headers in vain.
#
# ```python
# inspect = wb.open_log_directory(DATA).inspect
# batches = inspect.batches().to_pandas()
# segment = batches.segment[batches.segment <= 150].max()
# index = inspect.offset_index().to_pandas().query("segment == @segment")
# before = batches.query("segment == @segment and last_offset < 150")
# print(f"segment {segment}: the first of {len(index)} entries is of {index.offset.iloc[0]}")
# print(len(before), "headers in vain")
# ```
#
# ```output
# segment 146: the first of 4 entries is of 152
# 4 headers in vain
# ```
#
# </details>
#
# **2.** Move the slider of *Retention of a day*. How many segments are deleted 6 hours after
# closing time, and how many 30 hours after? Is anything left then?
#
# <details>
# <summary>Answer</summary>
#
# **8**, then all **11**. What is left is an empty segment at the log end offset: even the active
# segment is deleted, and the offsets continue.
#
# ```python
# batches = wb.open_log_directory(DATA).inspect.batches().to_pandas()
# latest = batches.groupby("segment").max_timestamp.max()
# for after in (6, 30):
#     limit = pd.Timestamp(closing + (after - 24) * HOUR, unit="ms", tz="UTC")
#     print(f"{after} hours after: {(latest < limit).sum()} of {len(latest)} are too old")
# ```
#
# ```output
# 6 hours after: 8 of 11 are too old
# 30 hours after: 11 of 11 are too old
# ```
#
# </details>
#
# **3.** How many bytes does the recovery of the crashed log truncate? Look at the last steps of the
# recovery player.
#
# <details>
# <summary>Answer</summary>
#
# **208** bytes: what had reached the disk of the last batch.
#
# ```python
# crashed = last.size - 300  # the size of the file that we truncated; now it is recovered
# print(crashed - os.path.getsize(last.path), "bytes")
# ```
#
# ```output
# 208 bytes
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `kafka-workbench recover` and `retention` do the same to a copy of your own directory, and give
#   their reasons; `predict` predicts what a broker would do with it.
# - An observer is any function that takes a `Step`; pass it to `wb.LogManager(…, observer=…)`.
# - [Open a log directory](01_open_a_log_directory.ipynb) looks into existing files.
