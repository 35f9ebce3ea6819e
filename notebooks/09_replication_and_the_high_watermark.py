# %% [markdown]
# # Replication and the high watermark
#
# When is a record safe, and how did replicas lose it all the same?
#
# A partition has one leader; followers fetch from it like consumers do. A record is *committed*
# when all in-sync replicas have it, and the *high watermark* (HW) is the offset up to which
# everything is. Consumers read no further, and a producer with `acks=all` is answered when its
# record is below it.
#
# Here, brokers run in one process, on logs as a broker has them. Nothing happens by itself: each
# message, crash and election is an event of ours. So we can look at the moments between two
# messages, and play the same events under the rules of Kafka 0.10, 1.1, 2.0 or 4.2.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import pandas as pd

import workbench as wb
from widgets import ReplicationPlayer, follow_theme

follow_theme()  # charts and tables look as the page does

pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## One record, two rounds
#
# Three numbers move. Each replica has a *log end offset* (LEO), the offset of its next record. The
# leader remembers the LEO of each follower, the *remote LEO*: it learns it from the offset that
# the follower asks for. And each replica has its high watermark.
#
# The article "Kafka source analysis", one of the five that this workbench began with
# (`docs/from-the-articles.md`), walks through it with one leader, broker 0, and one follower,
# broker 1. The follower fetches in vain until the producer sends a record; then two rounds of
# fetches follow. A leader that was not asked yet does not know the remote LEO. Here the fetch in
# vain came first, so it is 0 from the first row on.

# %% jupyter={"source_hidden": true}
cluster = wb.Cluster(2)
cluster.fetch(1)  # the leader has no record: the request waits
cluster.expire(1)  # replica.fetch.wait.max.ms = 500 ms are over
cluster.answer(1)  # the answer without records arrives

rows = []


def note(moment: str) -> None:
    """Keep the numbers of a moment."""
    leader, follower = cluster.brokers[0].partition, cluster.brokers[1].partition
    rows.append(
        {
            "moment": moment,
            "leader LEO": leader.log.log_end_offset,
            "remote LEO": leader.remote[1].log_end_offset,
            "leader HW": leader.log.high_watermark,
            "follower LEO": follower.log.log_end_offset,
            "follower HW": follower.log.high_watermark,
            "consumers see": cluster.consume(0),
        }
    )


note("before")
sent = cluster.produce("m0")
note("PRODUCE is processed")
cluster.fetch(1)
note("FETCH of round 1 is processed")
cluster.answer(1)
note("its answer is processed")
cluster.fetch(1)
note("FETCH of round 2 is processed")
cluster.expire(1)
cluster.answer(1)
note("its answer is processed")
pd.DataFrame(rows)

# %% [markdown]
# Number by number:
#
# - **PRODUCE**: the leader appends, so its LEO is 1. It tries to raise its high watermark to the
#   smaller of its LEO, 1, and the remote LEO, 0: it stays 0. (One sentence of that article
#   says that the remote LEO is 1 here. It is 0, as the sentence before it says, too.)
# - **Round 1**: the follower asks for offset 0, so the remote LEO stays 0, and so does the high
#   watermark. The answer brings m0 and the high watermark 0. The follower appends, and takes the
#   smaller of its LEO, 1, and the leader's high watermark, 0.
# - **Round 2**: the follower asks for offset 1, so the leader knows that it has m0. The remote LEO
#   is 1, and the high watermark rises to 1. The follower takes the smaller of its LEO and the
#   leader's *high watermark*. (The article says "leader LEO" here. Both are 1, so the result
#   is the same; with a record more on the leader it would not be.)
#
# The request of round 2 found no records and waited, so it was read again before it was answered.
# That is why its answer says 1. An answer at once has the high watermark from *before* the
# request: see below, where a second record comes in between.
#
# The same in the player, where the fetch waits for the record. Step with the arrow keys. Arrows
# between the lanes are messages, dashed while they travel; a square is a request that waits in the
# leader's purgatory. Below are the reason for each step, and the table, which grows.

# %%
ReplicationPlayer("G-0", at=3)

# %% [markdown]
# Now a second record comes before the second round. The fetch of step 5 raises the leader's high
# watermark to 1, but its answer, in step 6, still says 0. While records keep coming, a follower's
# high watermark lags by one more round.

# %%
print(wb.scenarios.play("G-0b").table())

# %% [markdown]
# With three replicas, the high watermark waits for the slowest one in sync. That is the difference
# from a majority vote.

# %%
print(wb.scenarios.play("G-0c").table())

# %% [markdown]
# ## What the second round costs
#
# A follower's high watermark lags. Up to 0.10, a restarted follower trusted it: it truncated its
# log there, and fetched the rest again. If the leader dies in between, a record is lost
# although its producer got the answer that it is stored. The events of KIP-101:

# %%
ReplicationPlayer("G-1", at=7)

# %% [markdown]
# The end is worse than a loss. The old leader still has m1 where the new one has m2. Both are in
# sync, both say that offset 1 is committed, and no one notices:

# %%
ReplicationPlayer("G-1", at=12)

# %% [markdown]
# Which versions lose it? The events are the same, only the rules differ. At the top right of the
# player you can choose them, too.


# %%
def compare(name: str, *versions: str) -> pd.DataFrame:
    """Play a scenario under the rules of several versions."""
    found = []
    for version in versions:
        played = wb.scenarios.play(name, rules=version)
        logs = {
            f"broker {replica.broker}": " ".join(record.value for record in replica.records)
            for replica in played.moments[-1].after.replicas
        }
        broken = ", ".join(each.kind for each in played.violations)
        found.append({"rules": version, **logs, "broken promises": broken or "none"})
    return pd.DataFrame(found)


compare("G-1", "0.10", "0.11", "1.1", "2.8", "4.2")

# %% [markdown]
# ## Leader epochs
#
# Since 0.11 each batch carries the *leader epoch*: the number of the election that made its writer
# the leader. A follower asks the leader where an epoch ends, and truncates there, not at its high
# watermark. That repairs G-1, and makes replicas equal again after a power failure, G-2. What a
# broker lost with its page cache while it was in sync stays lost: epochs give agreement, not
# durability.

# %%
compare("G-2", "0.10", "0.11", "2.8", "4.2")

# %% [markdown]
# The first version of epochs answered with one offset, the start of the next larger epoch. Two
# quick elections were enough to make logs diverge all the same, up to 1.1 (KIP-279). Since 2.0 the
# leader also names its own largest epoch, and both sides go back to the last one that they share.

# %%
ReplicationPlayer("G-3", at=7)

# %%
compare("G-3", "1.1", "2.0", "2.8", "4.2")

# %% [markdown]
# When brokers have led by turns, it takes several questions. Since 2.8 a follower asks with the
# fetch itself: it names the epoch of its last record, and the answer says where the logs part.

# %%
ReplicationPlayer("G-4b", at=13)

# %% [markdown]
# The player says that a committed record was lost: b0 and b1. The truncation is not at fault: it
# makes the logs equal. Each broker led while it was alone and answered for its records, then
# died and another was elected without them: an unclean election, which these events allow.

# %% [markdown]
# ## Fewer replicas
#
# `min.insync.replicas` says how many replicas a record needs at least. Below it, `acks=all` is
# refused; `acks=1` is not. Since 3.7 the high watermark then stands still, and that made another
# promise possible: since 4.0 a replica that left such a small ISR can still be elected without a
# loss, because nothing was committed without it (KIP-966).

# %%
compare("G-8", "3.6", "3.9", "4.2")

# %% [markdown]
# Why is a record lost under 3.9 as well, although its high watermark stands still? That protects w,
# the record that was never committed. But c1 and c2 were, and broker 2, the only replica in sync,
# lost them with its page cache. Up to 3.9 it must lead again, because it was the last in sync.
# Under 4.2, broker 1 left the ISR while nothing was committed without it, so it is still
# *eligible*: it has c1 and c2, and is elected. Step from its return to the end.

# %%
ReplicationPlayer("G-8", rules="4.2", at=14)

# %% [markdown]
# A committed offset is a record, too, of `__consumer_offsets`:
# [How an offset is committed](15_how_an_offset_is_committed.ipynb) follows one, `"G-14"`.
#
# All scenarios, each for
# `ReplicationPlayer(name)` or `wb.scenarios.play(name)`:

# %%
pd.DataFrame(
    [
        {"name": each.name, "title": each.title, "rules": ", ".join([each.rules, *each.also])}
        for each in wb.scenarios.SCENARIOS.values()
    ]
)

# %% [markdown]
# ## Let the computer look for it
#
# You need not know these stories. `find_schedule` tries all orders of events within bounds, on
# small logs in memory, and returns the shortest one that breaks a promise. It finds the events of
# KIP-101 and KIP-279 by itself.

# %%
loss = wb.find_schedule(
    "committed record lost",
    rules="0.10",
    bounds=wb.engine.Bounds(records=2, crashes=2, elections=0),
)
divergence = wb.find_schedule(
    "divergence", rules="1.1", bounds=wb.engine.Bounds(records=3, crashes=0, elections=2)
)
print(loss, divergence, sep="\n\n")

# %% [markdown]
# Six events lose a record under the rules of 0.10. Played on real logs:

# %%
ReplicationPlayer(loss, at=5)

# %% [markdown]
# And under the rules of 4.2? Within the same bounds there is no such schedule. That is not a proof,
# but every order of these few events was tried.

# %%
for promise, bounds in (
    ("committed record lost", wb.engine.Bounds(records=2, crashes=2, elections=0)),
    ("divergence", wb.engine.Bounds(records=3, crashes=0, elections=2)),
):
    print(wb.find_schedule(promise, rules="4.2", bounds=bounds))

# %% [markdown]
# ## Your own events
#
# Events are texts, so your own story is a list. Values are hidden in the player unless you ask for
# them; here is one record that the controller never hears of, because its leader is isolated.

# %%
story = [
    ("produce m0", "Both replicas get the first record."),
    ("rest", "They are equal."),
    ("isolate 0", "The leader is isolated from all but its clients."),
    ("produce m1 to 0 with acks=1", "It takes a record, and says that it is stored."),
    ("9000 ms pass", "The controller elects broker 1."),
    ("heal 0", "The old leader is back."),
    ("rest", "It truncates what no other replica has."),
]
ReplicationPlayer(story, brokers=2, show_values=True, title="A leader that is isolated", at=5)

# %% [markdown]
# ## Real disks
#
# The same questions can be asked of brokers that are stopped, or dead. The sample holds the disks
# of two brokers of Kafka 4.2 after an unclean election. Broker 1 was killed with two acknowledged
# records that broker 2 had not fetched; then broker 2 was elected, and took a record of its own.

# %%
from pathlib import Path

from widgets import ReplicaLanes

disks = Path("../sample_data/two-brokers")
compared = wb.compare_replicas({number: disks / f"broker{number}" for number in (1, 2)})
compared

# %% [markdown]
# Choose the leader: what the follower would truncate is hatched, and what is lost is marked.

# %%
ReplicaLanes(compared, leader="2")

# %% [markdown]
# ## Try it
#
# A click opens an answer. To run its code, copy it into the cell below and press Shift+Enter.
#
# **1.** In the player of G-1, choose the rules of 0.11 at the top right. Is a promise still broken,
# as under those of 0.10?
#
# <details>
# <summary>Answer</summary>
#
# No. Since 0.11 the follower asks where an epoch ends, and keeps the record. Under 0.10 there are a
# **committed record lost** and a **divergence**.
#
# ```python
# for version in ("0.10", "0.11"):
#     print(version, [each.kind for each in wb.scenarios.play("G-1", rules=version).violations])
# ```
#
# ```output
# 0.10 ['in-sync replicas differ', 'committed record lost', 'divergence']
# 0.11 []
# ```
#
# </details>
#
# **2.** Six events lose a record under the rules of 0.10. Does `find_schedule` find such events
# under those of 0.11, within the same bounds?
#
# <details>
# <summary>Answer</summary>
#
# **nothing found**: leader epochs repair it.
#
# ```python
# bounds = wb.engine.Bounds(records=2, crashes=2, elections=0)
# print(wb.find_schedule("committed record lost", rules="0.11", bounds=bounds))
# ```
#
# ```output
# rules of 0.11: nothing found in all ... states
# ```
#
# </details>
#
# **3.** In the lanes of the real disks, choose broker 1 as the leader. What does broker 2 truncate
# then, and what broker 1 if broker 2 leads?
#
# <details>
# <summary>Answer</summary>
#
# Each truncates to offset **1**, where they part. Broker 2 has one record after it, broker 1 has
# two: those that were acknowledged.
#
# ```python
# both = [
#     wb.open_log_directory(disks / f"broker{each}").inspect.batches("ledger").to_pandas()
#     for each in (1, 2)
# ]
# same = both[0].merge(both[1], on=["base_offset", "crc"])  # the batches that both have
# print("equal up to", same.last_offset_x.max() + 1)
# print("log end offsets:", *(each.last_offset.max() + 1 for each in both))
# ```
#
# ```output
# equal up to 1
# log end offsets: 3 2
# ```
#
# </details>
#
# **4.** In the first table, after which moment may a consumer read m0, and when does the follower
# know that it may? And if a second record comes before the second round?
#
# <details>
# <summary>Answer</summary>
#
# When the leader has processed the FETCH of round **2**: it asks for offset 1, which is the remote
# LEO from then on. The follower learns the high watermark from the answer. With a second record,
# that answer still says **0**.
#
# ```python
# table = pd.DataFrame(rows)
# print(table[["remote LEO", "leader HW", "follower HW"]].to_string(header=False, index=False))
# print(table.moment[table["leader HW"].idxmax()])
# for step in (5, 6):
#     leader, follower = wb.scenarios.play("G-0b").moments[step - 1].after.replicas
#     print(f"step {step}: HW {leader.high_watermark}, of the follower {follower.high_watermark}")
# ```
#
# ```output
# 0 0 0
# 0 0 0
# 0 0 0
# 0 0 0
# 1 1 0
# 1 1 1
# FETCH of round 2 is processed
# step 5: HW 1, of the follower 0
# step 6: HW 1, of the follower 0
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `wb.Cluster` takes every event as a call, with brokers in memory or, with `directory`, in real
#   log directories; `cluster.table()` shows the state of each broker.
# - [How a log is written](02_how_a_log_is_written.ipynb) shows what truncation does to segments and
#   indexes.
# - [Where do my consumers stand?](08_where_do_my_consumers_stand.ipynb) begins where this ends:
#   with consumers, who see only what is below the high watermark.
