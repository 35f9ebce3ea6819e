# %% [markdown]
# # How an offset is committed
#
# A consumer commits an offset. Where does it go, who can read it and from when on, and when is it
# gone?
#
# A consumer group keeps its positions in Kafka itself, in the compacted topic `__consumer_offsets`.
# A *coordinator*, the leader of one of its partitions, takes the commits, holds the newest ones in
# memory, and answers fetches from there. This notebook runs a coordinator on a log of our own: a
# commit, a fetch, a change of the leader, and an expiry, step by step.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import random
import tempfile

import workbench as wb
from widgets import OffsetsPlayer, ReplicationPlayer, follow_theme

follow_theme()  # charts and tables look as the page does

DAY = 24 * 3_600_000

# %% [markdown]
# ## A commit
#
# The clock stands still until we move it, and an observer receives every step of the coordinator.
# Our `__consumer_offsets` has three partitions (default: 50). The hash of the group's
# name decides which partition holds the group, and so which broker is its coordinator.

# %% jupyter={"source_hidden": true}
home = tempfile.TemporaryDirectory()
DIRECTORY = os.path.join(home.name, "data")
clock = wb.engine.ManualClock(1_732_924_800_000)  # ms: 30 November 2024
steps = []
manager = wb.LogManager(
    [DIRECTORY], clock=clock, scheduler=wb.engine.ManualScheduler(clock), rng=random.Random(8)
)
manager.startup(with_tasks=False)
offsets = wb.OffsetManager(
    manager, config=wb.engine.OffsetConfig(topic_num_partitions=3), observer=steps.append
)
offsets.startup(with_tasks=False)

partition = offsets.partition_for("billing")
print(f"the group billing belongs to __consumer_offsets-{partition}")

# %% [markdown]
# The coordinator first *checks* a commit, then *appends* it to its log, and only when the log has
# it, puts it into *memory*. Metadata is the consumer's own text; here it is too long for one of the
# partitions, so that offset is refused and the other ones are taken.

# %%
offsets.commit("billing", {"orders-0": 42, "orders-1": 7})
clock.advance(5000)
answers = offsets.commit(
    "billing", {"orders-0": 50, "orders-1": wb.engine.OffsetCommit(9, metadata="x" * 5000)}
)
for where, code in answers.items():
    print(f"{where}: {code.name}")

# %% [markdown]
# Step through it with the arrow keys. A record whose offset is in memory has a dot. Offset 0 of the
# log is gray at the end: a later record of the same key replaced it, and compaction may remove it.


# %%
def play(title: str, kind: str) -> OffsetsPlayer:
    """Return a player of all steps so far, at the last step of a kind."""
    last = max(number for number, step in enumerate(steps) if step.kind == kind)
    return OffsetsPlayer(steps, title=title, at=last)


play("Two commits", "offset loaded")

# %% [markdown]
# What is on the disk is an ordinary record: its key is the group and the partition, its value the
# offset.

# %%
written = wb.open_log_directory(DIRECTORY)
written.inspect.commits("billing", lag=False).to_pandas()[
    ["log", "log_offset", "topic", "partition", "offset", "fate"]
]

# %% [markdown]
# ## A fetch
#
# A fetch reads memory only. Without partitions it returns all of the group; for a partition without
# a commit the answer is -1, and the consumer does what `auto.offset.reset` says.

# %%
for where, found in offsets.fetch("billing", ["orders-0", "orders-1", "orders-2"]).items():
    print(f"{where}: {found.offset}")

# %% [markdown]
# An offset that a producer commits in a transaction is *pending* until the transaction marker is in
# the log. Until then the old offset applies, and a consumer with `isolation.level=read_committed`
# must ask again, because it asks for stable offsets only.

# %%
offsets.commit_transactional("billing", {"orders-0": 60}, producer_id=9, producer_epoch=0)
for require_stable in (False, True):
    found = offsets.fetch("billing", ["orders-0"], require_stable=require_stable)["orders-0"]
    print(f"require_stable={require_stable}: {found.offset} {found.error.name}")

offsets.complete_transaction(partition, 9, 0, 0, is_commit=True)
print(f"after the marker: {offsets.fetch('billing', ['orders-0'])['orders-0'].offset}")
play("A commit in a transaction", "offset pending")

# %% [markdown]
# ## Another broker becomes the coordinator
#
# When the leader of the partition changes, the old coordinator forgets its memory, and answers
# `NOT_COORDINATOR`. The new one reads the whole log from its beginning before it answers: the
# newest record of each key counts, tombstones remove, and transactions wait for their markers.

# %%
offsets.unload(partition)
try:
    offsets.fetch("billing")
except wb.CoordinatorError as error:
    print(error)

began = len(steps)
offsets.load(partition)
print({str(where): found.offset for where, found in offsets.fetch("billing").items()})
OffsetsPlayer(steps, title="A load", at=began + 3)

# %% [markdown]
# ## In a cluster of three
#
# A consumer's committed offset is a record, too, of `__consumer_offsets`. The leader of its
# partition is the *coordinator* of the group: it answers a commit when the high watermark has
# passed the record, and shows the offset only then. When the leader dies, the next one loads the
# partition, and groups resume at what it finds there.

# %%
ReplicationPlayer("G-14", at=13)

# %% [markdown]
# No client got an answer to the second commit, and yet the group resumes at its offset in the end:
# a commit that failed may count later. With the rules of 3.9 the new coordinator shows it at once.

# %% [markdown]
# ## An expiry
#
# Offsets expire. Since 2.1, the offsets of a group do so `offsets.retention.minutes` (by default 7
# days) after the group became empty; those of a consumer that commits without joining a group, like
# ours, that long after the commit. A cleanup task runs every ten minutes and appends a tombstone
# for each expired offset.

# %%
clock.advance(8 * DAY)
offsets.cleanup_group_metadata()
print({str(where): found.offset for where, found in offsets.fetch("billing", ["orders-0"]).items()})
play("An expiry", "offset removed")

# %% [markdown]
# From now on, a consumer of this group starts over. Until compaction removes the tombstones, the
# log says why:

# %%
offsets.shutdown()
manager.shutdown()
print(wb.open_log_directory(DIRECTORY).explain_group("billing"))

# %% [markdown]
# ## Try it
#
# A click opens an answer. To run its code, copy it into the cell below and press Shift+Enter.
#
# **1.** In the player *An expiry*, why do the offsets of `billing` expire at different times?
#
# <details>
# <summary>Answer</summary>
#
# The rule counts from each commit. Partition **0** was committed again 5 seconds later, partition
# **1** was not: its second commit was refused.
#
# ```python
# for step in steps:
#     if step.kind == "offset expired":
#         print(step.numbers["partition"], step.reason)
# at = written.inspect.commits("billing", lag=False).to_pandas().commit_time
# print((at.max() - at.min()).total_seconds(), "seconds later")
# ```
#
# ```output
# 0 retention since the commit, at 1733529605000 ms; now 1733616005000 ms
# 1 retention since the commit, at 1733529600000 ms; now 1733616005000 ms
# 5.0 seconds later
# ```
#
# </details>
#
# **2.** How many records did the coordinator leave in its log, and how many are tombstones?
#
# <details>
# <summary>Answer</summary>
#
# **7**, with markers of transactions not counted; **3** of them are tombstones.
#
# ```python
# left = wb.open_log_directory(DIRECTORY)
# values = left.scan("__consumer_offsets", isolation_level="read_committed").to_pandas()["value"]
# print(len(values), "records,", values.isna().sum(), "tombstones")
# ```
#
# ```output
# 7 records, 3 tombstones
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - [Where do my consumers stand?](08_where_do_my_consumers_stand.ipynb) asks about the groups of a
#   real broker.
# - [Replication and the high watermark](09_replication_and_the_high_watermark.ipynb) shows what
#   protects the coordinator's records.
# - [Step through a compaction](04_step_through_a_compaction.ipynb) shows what happens to records
#   that a later record replaces.
