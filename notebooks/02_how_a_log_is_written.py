# %% [markdown]
# # How a log is written
#
# The workbench has an engine of its own that writes logs as a broker does, byte for byte. It tells
# each step to whoever watches, with the numbers that led to it. So you can see how batches, index
# entries and segments come about, what a crash leaves, and what retention takes away.
#
# Everything here lies in a temporary directory. The clock stands still until it is moved, and
# chance is seeded, so that every run shows the same.

# %%
import json
import os
import random
import shutil
import tempfile
from uuid import UUID

import ipywidgets
import pandas as pd

import workbench as wb
from widgets import LogExplorer, LookupPlayer, RecoveryPlayer, Stack, StepPlayer
from workbench.log.clock import ManualClock
from workbench.log.scheduler import ManualScheduler

MINUTE, HOUR = 60_000, 3_600_000
OPENING = 1_764_320_400_000  # ms: Black Friday 2025, 9:00 UTC

home = tempfile.TemporaryDirectory()
DATA = os.path.join(home.name, "data")
ORDERS = os.path.join(DATA, "orders-0")

clock = ManualClock(OPENING)
chance = random.Random(4)
steps = []

manager = wb.LogManager(
    [DATA],
    clock=clock,
    scheduler=ManualScheduler(clock),
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
# busy producer would put many records into one. There is one replica only, so what is written is
# at once committed.


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
# Three things happened. The log noted at which offset the time of this *leader* began. The batch
# was written at byte 0. And it got no entry in the index: there is nothing before it to skip.
#
# ## Batches and index entries
#
# A player shows such steps one after the other. Press play, the arrow keys, or a step in the list.

# %%
sell(19)
player = StepPlayer(steps, ORDERS, title="Append to orders-0")
player

# %% [markdown]
# Run the next cell as often as you like: the player follows.

# %%
sell(1)
player.show(steps, ORDERS)
print(player.step)

# %% [markdown]
# The index is *sparse*. A batch gets an entry when more than `index.interval.bytes`, 4096 by
# default, were written since the last one. The engine says so each time:

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
# Each time an entry is due, both indexes get one. That of the *offset index* says where the batch
# with this offset begins. That of the *time index* says: up to this offset, no record is later than
# this. A late record, older than those before it, changes nothing there.

# %%
inspect = wb.open_log_directory(DATA).inspect
offset_index = inspect.offset_index().to_pandas()[["entry", "offset", "position"]]
time_index = inspect.time_index().to_pandas()[["entry", "timestamp", "offset"]]
offset_index.merge(time_index, on="entry", suffixes=("", "_in_time_index")).set_index("entry")

# %% [markdown]
# ## A new segment
#
# A segment is closed and a new one begun when the next batch would make it too large, when it is
# too old, or when an index is full. With the roll the old segment is flushed to the disk, and the
# *recovery point* moves up to its end: what lies before it is safe.

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
# On the disk it is an ordinary log directory, and the explorer of the first notebook opens it.

# %%
LogExplorer(DATA, selected={"partition": "orders-0", "segment": 0})

# %% [markdown]
# ## A crash
#
# Now the power goes. Nothing was closed, and of the last batch only a part reached the disk. A copy
# of the directory that lacks its last bytes is just that.

# %%
CRASHED = os.path.join(home.name, "crashed")
shutil.copytree(DATA, CRASHED)
last = wb.open_log_directory(CRASHED)["orders-0"].segments[-1]
os.truncate(last.path, last.size - 300)

for finding in wb.verify(CRASHED):
    print(f"{finding.kind}: {finding.found}.\n{finding.broker}")

# %% [markdown]
# No marker of a clean shutdown is found at the next start, so the log is *recovered* from the
# recovery point on. Batch by batch it is checked: does the size make sense, is the checksum right?
# The indexes are built anew on the way. At the first batch that is not whole, the rest is cut off.
# The player shows what the engine does on a copy; your files stay as they are.

# %%
recovery = RecoveryPlayer(os.path.join(CRASHED, "orders-0"), recovery_point=log.recovery_point)
recovery.at = [step.kind for step in recovery.steps].index("segment recovered")
recovery

# %% [markdown]
# The segments before the recovery point were not even read. With the recovery point at 0, as when
# its checkpoint is lost, everything is.

# %%
whole = RecoveryPlayer(os.path.join(CRASHED, "orders-0"), recovery_point=0)
print(f"{len(recovery.steps)} steps with the recovery point, {len(whole.steps)} without")

# %% [markdown]
# The same for real: a log manager starts on the directory, recovers it, and closes it cleanly.
# What is still missing is no fault of the log: the replica manager of a broker writes that file.

# %%
with wb.LogManager([CRASHED], clock=clock, scheduler=ManualScheduler(clock)) as restarted:
    recovered = restarted.get_log("orders-0")
    print(f"It ended at {log.log_end_offset}, and now at {recovered.log_end_offset}.")

for finding in wb.verify(CRASHED):
    print(f"{os.path.basename(finding.path)}: {finding.found}. {finding.broker}")

# %% [markdown]
# ## Finding an offset, finding a time
#
# To read from an offset, a broker takes the segment that can hold it and searches the offset index
# by halves, for the last entry at or before it. From there it reads batch headers, one after the
# other, until one reaches the offset. The numbers below are the entries in the order compared.
#
# The first is that of the *warm section*, the last 8 KiB of an index. Most consumers read near the
# end, so a search that stays in there touches few pages, and those are in memory. This index is
# warm as a whole.

# %%
lookup = LookupPlayer(ORDERS, offset=33)
lookup.at = len(lookup.steps) - 1
lookup

# %% [markdown]
# A time takes two searches: the time index gives an offset from which on to look, the offset index
# gives its place. Then the batches are read until a record is late enough.

# %%
by_time = LookupPlayer(ORDERS, timestamp=OPENING + 15 * MINUTE)
by_time.at = len(by_time.steps) - 1
by_time

# %% [markdown]
# ## Retention
#
# Two days pass, with a few sales every six hours, and the shop closes.

# %%
for _ in range(8):
    clock.advance(6 * HOUR)
    sell(chance.randrange(10, 30))
manager.shutdown()
closing = clock.now()

wb.open_log_directory(DATA).inspect.segments().to_pandas()[["name", "base_offset", "size"]]

# %% [markdown]
# Topics keep their records for `retention.ms`, here for a day. A segment goes as a whole, when its
# *latest* record is too old, and the rule stops at the first segment that stays. Its files are
# first renamed to `.deleted`; a minute later they are removed.
#
# Move the clock. Each time, a fresh copy of the directory is opened at that hour and asked.


# %%
def retain(hours: int) -> None:
    """Show what retention does so many hours after closing time."""
    told = []
    now = ManualClock(closing + hours * HOUR)
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(DATA, os.path.join(scratch, "data"))
        later = wb.LogManager(
            [copy],
            clock=now,
            scheduler=ManualScheduler(now),
            observer=told.append,
            topic_configs={"orders": {"retention.ms": 24 * HOUR}},
        )
        later.startup(with_tasks=False)
        kept = later.get_log("orders-0")
        kept.update_high_watermark(kept.log_end_offset)
        told.clear()
        later.delete_old_segments()
        now.advance(MINUTE)
        wanted = [step for step in told if step.kind.startswith("segment")]
        later.shutdown()
    decided = [number for number, step in enumerate(wanted) if step.kind == "segment kept"]
    deleted = sum(step.kind == "segment files removed" for step in wanted)
    about = f"{hours} hours after closing: {deleted} segments go"
    retention.show(wanted, ORDERS, about=about, at=max(decided))


retention = StepPlayer(title="Retention of a day")
hours = ipywidgets.IntSlider(
    6, 0, 36, description="hours after closing", style={"description_width": "initial"},
    layout={"width": "480px"}, continuous_update=False,
)  # fmt: skip
hours.observe(lambda change: retain(change["new"]), names="value")
retain(hours.value)
Stack([hours, retention])

# %% [markdown]
# The reason of each verdict stands with its step:

# %%
for step in retention.steps:
    if step.numbers.get("rule") == "retention.ms":
        print(f"{step.numbers['base_offset']:>4} {step.kind.split()[-1]}: {step.reason}")

# %% [markdown]
# ## Next
#
# - `kafka-workbench recover` and `retention` do the same to a copy of a directory of yours, and
#   tell why; `predict` says what a broker would do with it.
# - Any observer works: a function that takes a `Step`, given to `wb.LogManager(…, observer=…)`.
# - The first notebook looks into what is there: `01_open_a_log_directory`.
