# %% [markdown]
# # Where do my consumers stand?
#
# Which group lags, on which partition, and since when? Which group started over, and why? What
# blocks the last stable offset?
#
# A consumer group keeps its positions in Kafka itself, in the compacted topic `__consumer_offsets`.
# This notebook reads it from a directory that a real broker left: the tea shop's cluster, or yours,
# if you started it with `kafka-workbench lab DIRECTORY`. No broker runs. The offsets are those that
# a broker would serve after a restart, each beside the log that it is for. How they come there is
# [How an offset is committed](15_how_an_offset_is_committed.ipynb).
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os

import pandas as pd
import traitlets

import workbench as wb
from widgets import GroupView, LogExplorer, Stack, TransactionLanes, follow_theme

follow_theme()  # charts and tables look as the page does

SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours
DAY = 24 * 3_600_000
pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## All groups
#
# One row per group and partition. *lag* is the log end offset minus the group's committed offset.

# %%
logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)
stand = logs.inspect.group_offsets().to_pandas()
stand[["group", "topic", "partition", "offset", "log_end_offset", "lag", "state", "expires_at"]]

# %% [markdown]
# One group over time: what it committed, how far the log went, and its rebalances as dashed lines.
# Drag across the lanes to choose a time; choose another group at the top. A lag begins where the
# two lines of a lane part. The lanes say the lag at the end of the chosen time, the table below
# says it now. A click on a lane selects the record at the committed offset, the next one that the
# group reads, in the explorer below.
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
# does the log hold it? In the shop, all groups resume where they stopped, except one.
# `shipping-labels` starts over in `orders-2`: its member has that partition, and no offset of it
# was ever committed.

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
# print(list(stand[stand.expires_at.isna()].group.unique()))
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
# **3.** Which group starts over, on which partition, and why?
#
# <details>
# <summary>Answer</summary>
#
# **shipping-labels** on `orders-2`. It has no committed offset there: its commits in
# `__consumer_offsets` are of partitions 0 and 1 only.
#
# ```python
# never = stand[stand.offset.isna()]
# print(never[["group", "topic", "partition"]].values.tolist())
# commits = logs.inspect.commits("shipping-labels").to_pandas()
# print(sorted(commits[commits.topic == "orders"].partition.unique().tolist()))
# ```
#
# ```output
# [['shipping-labels', 'orders', 2]]
# [0, 1]
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
# - [How an offset is committed](15_how_an_offset_is_committed.ipynb) plays a coordinator, step by
#   step.
# - [Why was it not compacted?](03_why_was_it_not_compacted.ipynb) shows how an open transaction
#   holds back the cleaner.
