# %% [markdown]
# # Where do my consumers stand?
#
# A consumer group keeps its positions in Kafka itself: in the compacted topic `__consumer_offsets`.
# A *coordinator*, the leader of one of its partitions, takes the commits, holds the newest ones in
# memory, and answers fetches from there.
#
# The first half runs a coordinator on a log of our own: a commit, a fetch, a change of the leader,
# and an expiry, step by step. The second half asks everyday questions about a directory that a real
# broker left: where do my consumers stand, why did they start over, what blocks the last stable
# offset?
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import random
import tempfile

import pandas as pd
import traitlets

import workbench as wb
from widgets import (
    GroupView,
    LogExplorer,
    OffsetsPlayer,
    ReplicationPlayer,
    Stack,
    TransactionLanes,
)
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetCommit
from workbench.errors import CoordinatorError
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

# %%
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours
DAY = 24 * 3_600_000
pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## A commit
#
# The clock stands still until we move it, and an observer receives every step of the coordinator.
# Our `__consumer_offsets` has three partitions; a broker has 50 by default. The hash of the group's
# name decides which partition holds the group, and so which broker is its coordinator.

# %%
home = tempfile.TemporaryDirectory()
DIRECTORY = os.path.join(home.name, "data")
clock = ManualClock(1_732_924_800_000)  # ms: 30 November 2024
steps = []
manager = wb.LogManager(
    [DIRECTORY], clock=clock, scheduler=ManualScheduler(clock), rng=random.Random(8)
)
manager.startup(with_tasks=False)
offsets = wb.OffsetManager(
    manager, config=OffsetConfig(topic_num_partitions=3), observer=steps.append
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
    "billing", {"orders-0": 50, "orders-1": OffsetCommit(9, metadata="x" * 5000)}
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
# the log. Until then the old offset counts, and a consumer with `isolation.level=read_committed`
# that asks for a stable answer has to ask again.

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
except CoordinatorError as error:
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
# No client got an answer to the second commit, and yet the group resumes at 50 in the end: a commit
# that failed may count later. With the rules of 3.9 the new coordinator shows 50 at once.

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
# ## Where do my consumers stand?
#
# The rest reads a directory that a real broker left: the tea shop's cluster, or your own, if you
# started the notebook with `kafka-workbench lab DIRECTORY`. No broker runs. The offsets are those
# that a broker would serve after a restart, each beside the log that it is for.

# %%
logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)
stand = logs.inspect.group_offsets().to_pandas()
stand[["group", "topic", "partition", "offset", "log_end_offset", "lag", "state", "expires_at"]]

# %% [markdown]
# One group over time: what it committed, how far the log went, and its rebalances as dashed lines.
# Drag across the lanes to choose a time; choose another group at the top. A click on a lane selects
# the record at the committed offset, the next one that the group reads, in the explorer below.
#
# The log end offset of a time comes from the timestamps of the records. Where the broker sets them
# (`LogAppendTime`, as in the topic `clicks`), it is exact. The timestamps of `orders` are those of
# the shop's producers, who replayed an old week: by them, all orders were there before the first
# commit.

# %%
lags = stand.dropna(subset=["lag"]).groupby("group")["lag"].sum()
group = GroupView(logs, lags.idxmax() if len(lags) else None)
read = [f"{row.topic}-{row.partition}" for row in stand.itertuples() if row.group == group.group]
explorer = LogExplorer(
    logs, selected={"partition": next((name for name in read if name in logs), None)}
)
traitlets.link((explorer, "selected"), (group, "selected"))
Stack([group, explorer])

# %% [markdown]
# The members and each rebalance are tables, too:

# %%
logs.inspect.rebalances(group.group or None).to_pandas()[
    ["time", "event", "generation", "state", "members", "reason"]
].tail(6)

# %% [markdown]
# ## Why did they start over?
#
# `explain_group` asks the coordinator's rules, one by one: is the group served, is there an offset,
# does the log hold it? In the shop, all groups resume where they stopped:

# %%
for name in group.groups:
    print(f"{name}: {logs.explain_group(name).conclusion}")

# %% [markdown]
# Whether an offset has expired depends on the time at which you ask: `now`. A month after the last
# commit, the groups without members have lost their offsets.

# %%
last = stand["commit_time"].max()
later = 0 if pd.isna(last) else int(last.timestamp() * 1000) + 30 * DAY
for name in group.groups:
    explained = logs.explain_group(name, now=later)
    print(f"{name}: {explained.conclusion}")
    for row in explained:
        if row.verdict == "blocks":
            print(f"    {row.where}: {row.rule}: {row.reason}")

# %% [markdown]
# ## What blocks the last stable offset?
#
# Consumers with `isolation.level=read_committed` read up to the *last stable offset*: the first
# offset of the oldest transaction that is still open. Each producer has a lane, and each
# transaction is a bar that ends with its marker. The records after the line wait for the open
# transaction.

# %%
lanes = TransactionLanes(logs)
lanes

# %% [markdown]
# A closer look at the end of the log:

# %%
end = logs[lanes.partition].log_end_offset if lanes.partition else 0
TransactionLanes(logs, window=[max(0, end - 120), end + 4])

# %% [markdown]
# Will the transaction end by itself? Its coordinator aborts it when it has been open longer than
# its timeout. But a transaction that no coordinator knows hangs: nothing ends it, and it blocks
# compaction, too. `explain_transaction` says which of the two it is, and what would end it.

# %%
waiting = logs.inspect.open_producers().to_pylist()
for row in waiting[:3]:
    print(logs.explain_transaction(row["transactional_id"] or row["producer_id"]))
print(f"open transactions: {len(waiting)}")

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** In the group view, choose `order-dashboard` at the top. On which partition is it behind,
# and by how many records?
#
# <details>
# <summary>Answer</summary>
#
# On both: by **685** records on partition 0, and by **1556** on partition 1.
#
# ```python
# rows = stand[stand.group == "order-dashboard"]
# print(rows[["partition", "offset", "lag"]].to_string(index=False))
# ```
#
# ```output
#  partition  offset  lag
#          0     903  685
#          1     527 1556
# ```
#
# </details>
#
# **2.** Which group keeps its offsets however long you wait, and why? Look at the column
# *expires_at*.
#
# <details>
# <summary>Answer</summary>
#
# **shipping-labels**: its offsets do not expire while it has a member, and its static member has
# never left. The group is **Stable**.
#
# ```python
# print(stand[stand.expires_at.isna()].group.unique())
# states = logs.inspect.groups().to_pandas().set_index("group").state
# print(states["shipping-labels"])
# ```
#
# ```output
# ['shipping-labels']
# Stable
# ```
#
# </details>
#
# **3.** In the player *An expiry*, why do the offsets of `billing` expire at different times?
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
# ```
#
# ```output
# 0 retention since the commit, at 1733529605000 ms; now 1733616005000 ms
# 1 retention since the commit, at 1733529600000 ms; now 1733616005000 ms
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `kafka-workbench groups`, `offsets`, `group` and `transactions` answer the same on the command
#   line; with `--json` for programs.
# - `logs.verify()` finds groups in the wrong partition, records that no broker can load, and
#   transactions that hang.
# - [Transactions in lanes](13_transactions_in_lanes.ipynb) makes a transaction that hangs, and ends
#   it.
# - [Why was it not compacted?](03_why_was_it_not_compacted.ipynb) shows how an open transaction
#   holds back the cleaner.
