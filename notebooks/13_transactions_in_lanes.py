# %% [markdown]
# # Transactions in lanes
#
# Why does a `read_committed` consumer get no further, although the log continues? One open
# transaction is enough. This notebook shows the transactions of a log as lanes, says what such a
# consumer gets and what it waits for, makes a transaction that hangs, and ends it.
#
# The sample is a tea shop's cluster, written by a real broker; `kafka-workbench lab DIRECTORY`
# takes a directory of yours, if it has a topic with transactions. Without `__transaction_state`,
# the notebook can say what is open, but not whether it hangs. The files do not change.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import random
import tempfile

import pandas as pd
import traitlets

import workbench as wb
from widgets import LogExplorer, Stack, TransactionLanes, follow_theme

follow_theme()  # charts and tables look as the page does

# %%
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours
NOW = 1_732_924_800_000  # ms: 30 November 2024
pd.set_option("display.max_colwidth", None)

logs = wb.open_log_directory(DATA)
lanes = TransactionLanes(logs)
if not lanes.partitions:
    print(f"{DATA} has no transactions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)
    lanes = TransactionLanes(logs)

# %% [markdown]
# ## The lanes
#
# Each producer has a lane, and each transaction is a bar, from its first record to its transaction
# marker. Aborted ones are hatched. Choose a partition at the top. Zoom with the wheel or `+` and
# `−`; click a bar, or a row below, and the explorer shows its first batch.
#
# The line at the right is the *last stable offset*: the first offset of the oldest transaction that
# is still open, or the high watermark, if none is. The tab *Open* says which one keeps it there.

# %%
explorer = LogExplorer(logs, selected={"partition": lanes.partition})
traitlets.link((explorer, "selected"), (lanes, "selected"))
Stack([lanes, explorer])

# %% [markdown]
# A closer look at the end of the log:

# %%
PARTITION = lanes.partition
TOPIC, NUMBER = logs[PARTITION].topic, logs[PARTITION].partition
end = logs[PARTITION].log_end_offset
TransactionLanes(logs, partition=PARTITION, window=[max(0, end - 120), end + 4])

# %% [markdown]
# ## What read_committed returns, and why
#
# Four kinds of records are in the log of this partition. A `read_committed` consumer gets one kind,
# and the records outside of any transaction. *Markers* are not records to any consumer: they take
# an offset each, which is why offsets have gaps.

# %%
counts = {
    level: logs.scan(topics=[TOPIC], partitions=[NUMBER], isolation_level=level).count()
    for level in ("read_uncommitted", "read_committed")
}
transactions = lanes.partitions[PARTITION].bars
OUTCOMES = ["committed", "aborted", "open"]
rows = {
    name: [int((transactions.outcome == number).sum()),
           int(transactions.records[transactions.outcome == number].sum())]
    for number, name in enumerate(OUTCOMES)
}  # fmt: skip
print(counts)  # records of the partition, by isolation level
pd.DataFrame.from_dict(rows, orient="index", columns=["transactions", "records"])

# %% [markdown]
# The broker does not filter. It returns the batches up to the last stable offset as they are,
# aborted ones included, with a list: which producer aborted from which offset on. The *consumer*
# drops these batches, until it meets the producer's marker. The list comes from the segment's
# `.txnindex`, which has an entry for each aborted transaction; a segment without an abort has no
# such file.

# %%
aborted = logs.inspect.aborted_transactions(topics=[TOPIC]).to_pandas()
aborted[aborted.partition == NUMBER][
    ["segment", "producer_id", "first_offset", "last_offset", "last_stable_offset"]
].tail(6)

# %% [markdown]
# ## What is open, and will it end?
#
# A transaction that its coordinator knows *waits*: the producer ends it, or the coordinator aborts
# it when it has been open longer than `transaction.timeout.ms`. A transaction that no coordinator
# knows *hangs*: nothing ends it. `explain_transaction` applies the rules, and the last row says
# what ends it. Without a broker, as here, everything waits.

# %%
waiting = logs.inspect.open_producers().to_pylist()
print(f"open transactions: {len(waiting)}")
for row in waiting[:3]:
    print(logs.explain_transaction(row["transactional_id"] or row["producer_id"]))

# %% [markdown]
# ## A producer dies
#
# The rest is about a log of our own, written by the workbench's engine with a coordinator of
# transactions. The clock moves only when we move it. First, the usual case: of two shops, *eu*
# commits, and *us* dies in the middle.

# %% jupyter={"source_hidden": true}
home = tempfile.TemporaryDirectory()
clock = wb.engine.ManualClock(NOW)
manager = wb.LogManager(
    [home.name], clock=clock, scheduler=wb.engine.ManualScheduler(clock), rng=random.Random(13)
)
manager.startup(with_tasks=False)
log = manager.get_or_create_log("sales-0")
OLD = wb.engine.TransactionVersion.TV_0  # of producers and brokers before 4.0
coordinator = wb.TransactionCoordinator(
    manager, config=wb.engine.TransactionConfig(num_partitions=1)
)
coordinator.startup(with_tasks=False)
moments = []


def note(moment: str) -> None:
    """Keep the offsets of a moment."""
    moments.append([moment, log.log_end_offset, log.high_watermark, log.last_stable_offset])


def begin(shop: str, version: wb.engine.TransactionVersion = OLD) -> tuple[int, int]:
    """Begin a transaction and return the producer's id and epoch."""
    producer, epoch, _ = coordinator.init_producer_id(shop)
    partitions = [log.topic_partition]
    coordinator.add_partitions_to_transaction(shop, producer, epoch, partitions, version)
    return producer, epoch


def send(producer: int, epoch: int, sequence: int, *teas: bytes) -> None:
    """Append records of a producer's transaction, a second later."""
    clock.advance(1000)
    log.append_as_leader(
        wb.engine.MemoryRecords.of(
            *((clock.now(), tea, b"sold") for tea in teas),
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
    )


eu = begin("eu")
send(*eu, 0, b"assam", b"sencha")
us = begin("us")
send(*us, 0, b"oolong")
note("both shops have sent")
coordinator.end_transaction("eu", *eu, commit=True, client_version=OLD)
note("eu has committed")
clock.advance(60_000)
note("a minute passed, and us is silent")
clock.advance(1)
coordinator.abort_timed_out_transactions()
note("the coordinator has aborted us")
pd.DataFrame(moments, columns=["moment", "log end", "high watermark", "last stable"])

# %% [markdown]
# All consumers of *eu*'s records had to wait a minute for *us*, because the last stable offset is
# one number for the whole partition. A coordinator ends what it knows.
#
# ## A transaction that hangs
#
# Now the accident behind most hanging transactions. *us* is back and sends a batch that the network
# delays. The producer gives up, and the transaction is aborted. *Then* the batch arrives. Its epoch
# is still the current one, so the log takes it, as the beginning of a transaction of which
# the coordinator knows nothing.

# %%
us = begin("us")
send(*us, 0, b"keemun")
coordinator.end_transaction("us", *us, commit=False, client_version=OLD)
note("us has aborted")
send(*us, 1, b"late")  # the batch that was delayed
note("a delayed batch has arrived")
for _ in range(5):
    log.append([(b"darjeeling", b"sold")])
clock.advance(3_600_000)
coordinator.abort_timed_out_transactions()
note("an hour passed")
pd.DataFrame(moments[-3:], columns=["moment", "log end", "high watermark", "last stable"])

# %% [markdown]
# The timeout does not help: for the coordinator, there is nothing to abort. Click the tab *Open*.

# %%
own = wb.open_log_directory(home.name)
TransactionLanes(own, partition="sales-0")

# %%
print(own.explain_transaction("us"))

# %% [markdown]
# ## The cure
#
# Somebody has to write the missing ABORT marker: `kafka-transactions.sh abort`, with the command
# above, makes a running broker do it. To write it into a copy yourself, `coordinator_repairs` says
# what it holds. Here the engine appends it.

# %%
repairs = own.inspect.coordinator_repairs().to_pylist()
for row in repairs:
    print(f"{row['what']} marker for {row['topic']}-{row['partition']}: {row['reason']}")
(repair,) = repairs
marker = wb.engine.end_transaction_marker(
    0,
    clock.now(),
    repair["producer_id"],
    repair["producer_epoch"],
    commit=repair["what"] == "COMMIT",
    coordinator_epoch=repair["coordinator_epoch"],
)
log.append_as_leader(marker, origin=wb.engine.AppendOrigin.COORDINATOR)
note("the marker is written")
pd.DataFrame(moments[-2:], columns=["moment", "log end", "high watermark", "last stable"])

# %%
cured = wb.open_log_directory(home.name)
print(f"{len(cured.verify())} findings")
TransactionLanes(cured, partition="sales-0")

# %% [markdown]
# ## The prevention
#
# Since 4.0, transactions of version 2 (KIP-890) raise the producer's epoch with every end. A batch
# that was delayed has the old epoch, and the log refuses it:

# %%
NEW = wb.engine.TransactionVersion.TV_2
de = begin("de", NEW)
send(*de, 0, b"assam")
coordinator.end_transaction("de", *de, commit=False, client_version=NEW)
try:
    send(*de, 1, b"late")
except wb.InvalidProducerEpochError as error:
    print(error)
coordinator.shutdown()
manager.shutdown()

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** In the first lanes, `payments-0` has a stretch of hatched bars, when the card provider was
# down. How many of its transactions were aborted, and how many records does a `read_committed`
# consumer never get?
#
# <details>
# <summary>Answer</summary>
#
# **42** transactions with **272** records. **3** more wait: those of the open transaction.
#
# ```python
# ended = logs.inspect.aborted_transactions(partitions="payments-0").to_pandas()
# waits_from = logs.inspect.open_producers().to_pandas().first_offset.min()
# sent = logs.scan(
#     partitions="payments-0", columns=["offset", "committed"], isolation_level="read_uncommitted"
# ).to_pandas()
# is_open = sent.offset >= waits_from
# print(len(ended), (~sent.committed & ~is_open).sum(), is_open.sum())
# ```
#
# ```output
# 42 272 3
# ```
#
# </details>
#
# **2.** Choose `payments-1` at the top of the first lanes. Where is its last stable offset, and
# does anything wait for it?
#
# <details>
# <summary>Answer</summary>
#
# At **1624**, the log end offset: nothing waits.
#
# ```python
# batches = logs.inspect.batches(partitions="payments-1").to_pandas()
# is_open = logs.inspect.open_producers().to_pandas().partition == 1
# print(batches.last_offset.max() + 1, is_open.sum())
# ```
#
# ```output
# 1624 0
# ```
#
# </details>
#
# **3.** In the last lanes, click the hatched bar of *us* that begins at offset 7. Where is its
# marker, and why so far away?
#
# <details>
# <summary>Answer</summary>
#
# At offset **13**: between them are the five records that were written while the transaction hung.
#
# ```python
# batches = cured.inspect.batches("sales").to_pandas()
# markers = batches[batches.is_control & (batches.producer_id == us[0])]
# print(markers.base_offset.tolist())
# ```
#
# ```output
# [4, 6, 13]
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `kafka-workbench transactions DIR --open` and `transaction ID DIR` say the same on the command
#   line; `repairs DIR` says what must be written.
# - [Where do my consumers stand?](08_where_do_my_consumers_stand.ipynb) shows offsets that are
#   committed in transactions.
# - [Step through a compaction](04_step_through_a_compaction.ipynb) shows what the cleaner does with
#   aborted records and markers.
