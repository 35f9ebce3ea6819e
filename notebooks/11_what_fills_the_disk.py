# %% [markdown]
# # What fills the disk?
#
# A disk of a broker is full, or nearly. Which topic is it, and is it the values, the keys, the
# headers, or what Kafka adds to them? Could compaction, a shorter retention, larger batches or
# another codec give the space back? A broker knows the size of a partition and no more.
#
# The sample is a tea shop's cluster, written by a real broker; `kafka-workbench lab DIRECTORY`
# takes a directory of yours. The files do not change.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import random
import tempfile
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import workbench as wb
from widgets import DiskUsage, follow_theme

# %% jupyter={"source_hidden": true}
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours
DAY = 24 * 3_600_000
pd.set_option("display.max_colwidth", None)
follow_theme()  # charts and tables look as the page does

logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)

NOW = int(time.time() * 1000)
if DATA == SAMPLE:
    NOW = 1_732_924_800_000  # ms: 30 November 2024, the end of the sample's week

usage = DiskUsage(logs)
usage

# %% [markdown]
# ## The whole disk at once
#
# In the widget above, each field is as large as what it holds. A click opens it: a topic, a
# partition, a segment, and inside of the segment its keys, values, headers and overhead. Escape
# goes up again. Only names and sizes are read until a segment is opened, so the picture is there at
# once, however large the disk is. Kafka's own topics are gray.
#
# What the widget opens can be set, and read, in Python. Here is the largest segment of all.

# %%
name = max(logs, key=lambda name: logs[name].size)
largest = max(logs[name].segments, key=lambda segment: segment.size)
inside = DiskUsage(logs)
inside.selected = {"partition": name}
inside.at = [*inside.at, str(largest.base_offset)]
inside

# %% [markdown]
# ## Keys, values, headers or overhead?
#
# `logs.inspect.disk_usage()` reads all records and accounts for every byte. *Record overhead* is
# the length, the offset and the timestamp of each record; *batch overhead* is the header of 61
# bytes of each batch. Bytes of compressed batches are divided in proportion to what their parts are
# before compression.

# %% jupyter={"source_hidden": true}
table = logs.inspect.disk_usage().to_pandas()
PARTS = ["values", "keys", "headers", "record overhead", "batch overhead"]
COLORS = ["#009E73", "#0072B2", "#CC79A7", "#E69F00", "#8C6BB1", "#56B4E9"]
topics = table.dropna(subset=["topic"]).copy()
topics["what"] = topics.part.where(topics.part.isin(PARTS), "indexes and other files")
by_topic = topics.pivot_table(
    index="topic", columns="what", values="occupied_bytes", aggfunc="sum", fill_value=0
)
by_topic = by_topic.reindex(columns=[*PARTS, "indexes and other files"], fill_value=0)
by_topic = by_topic.loc[by_topic.sum(axis=1).sort_values().index[-12:]]

axes = plt.figure(figsize=(10, 0.6 + 0.34 * len(by_topic))).gca()
left = np.zeros(len(by_topic))
for part, color in zip(by_topic.columns, COLORS, strict=True):
    widths = by_topic[part].to_numpy() / 1024
    axes.barh(by_topic.index, widths, left=left, color=color, label=part)
    left += widths
axes.set_xlabel("KiB on the disk")
axes.legend(frameon=False, fontsize=8, loc="lower right")
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# ## What a record costs
#
# The same table, per record: the bytes that a producer sent, and what the disk holds for them.
# *Compression* is how many times smaller the records are on the disk. A topic with few records per
# batch pays the batch's header with each of them and compresses badly, because only records of the
# same batch are compressed together: a larger `linger.ms` or `batch.size` of its producers helps.

# %%
batches = logs.inspect.batches().to_pandas()
batches = batches[~batches.is_control.astype(bool)]
counts = batches.groupby("topic").agg(
    batches=("size", "size"), records=("record_count", "sum"), size=("size", "sum")
)
plain = topics[topics.part.isin(PARTS)].groupby("topic").uncompressed_bytes.sum()
costs = pd.DataFrame(
    {
        "records": counts.records,
        "records per batch": (counts.records / counts.batches).round(1),
        "bytes per record": (counts["size"] / counts.records).round(0),
        "compression": (plain / counts["size"]).round(1),
    }
)
costs[counts.records > 0].sort_values("records", ascending=False)

# %% [markdown]
# How much would it help? Write the largest partition that is not Kafka's own once more, in batches
# of 3, 10 and 100 records, with two codecs, by the engine that writes as a broker does.

# %%
own = [each for each in logs if each[:2] != "__" and 0 < logs[each].size < 4 << 20]
largest_own = max(own, key=lambda each: logs[each].size, default=name)
again = "orders-0" if "orders-0" in own else largest_own
columns = ["timestamp", "key", "value"]
read = logs.scan(partitions=again, columns=columns, isolation_level="read_committed").to_arrow()
times = [0 if each is None else int(each.timestamp() * 1000) for each in read[0].to_pylist()]
sent = list(zip(times, read[1].to_pylist(), read[2].to_pylist(), strict=True))
sizes = pd.DataFrame(index=["lz4", "zstd"])
for codec in ("lz4", "zstd"):
    for count in (3, 10, 100):
        with tempfile.TemporaryDirectory() as scratch:
            topics_of = {"again": {"compression.type": codec}}
            writer = wb.LogManager([scratch], topic_configs=topics_of)
            writer.startup(with_tasks=False)
            rewritten = writer.get_or_create_log("again-0")
            for at in range(0, len(sent), count):
                rewritten.append(sent[at : at + count])
            writer.shutdown()
            sizes.loc[codec, f"{count} per batch"] = wb.open_log_directory(scratch)["again-0"].size
print(f"{again} has {logs[again].size:,} bytes")
sizes.convert_dtypes()

# %% [markdown]
# In the sample, `orders-0` has 3.2 records per batch. With a hundred in a batch, lz4 would need a
# third of the bytes, and zstd about a fifth: the batches are what costs, more than the codec.

# %% [markdown]
# ## What could be given back?
#
# Two answers, from the engine's own rules: what a shorter retention would delete, and which keys
# of compacted topics have the most bytes in old values, which compaction would drop. The last
# column says why the cleaner does not drop them now.
#
# Why are segments "in the future" in the sample? The broker itself dated the records of `clicks`
# (`message.timestamp.type=LogAppendTime`) and the transaction markers of `payments`, by its clock
# when the sample was made, in 2026. The clock here is the end of the orders' week in 2024, so these
# segments are kept: the same happens if a producer's clock is wrong.

# %%
outcome = wb.what_if(logs, {"retention.ms": DAY}, now=NOW)
outcome

# %%
rules = logs.explain_cleaning(now=NOW)
compacted = [
    name
    for name, found in rules.items()
    if name[:2] != "__" and found["cleanup.policy"].verdict == "allows"
]
keys = logs.inspect.keys(limit=3).to_pandas()
keys["log"] = keys.topic + "-" + keys.partition.astype(str)
keys = keys[keys.log.isin(compacted)].nlargest(8, "superseded_bytes")
keys["key"] = keys.key.map(lambda key: key.decode(errors="replace")[:42])
keys["why not now"] = keys.log.map(lambda name: rules[name].conclusion)
keys.set_index("log")[["key", "records", "superseded_records", "superseded_bytes", "why not now"]]

# %% [markdown]
# ## Files that are longer than what they hold
#
# `ls -l` and `du` disagree about a broker's disk. The indexes of an active segment are 10 MiB long
# from the first record on, but the disk holds only the few entries in them: the rest is a hole.
# They shrink to their entries when the segment is rolled or the broker stops cleanly. With
# `preallocate=true`, the `.log` file has a hole, too. The indexes of a thousand partitions seem to
# take 20 GiB that are not there. Here is a log of our own while its broker runs.

# %%
home = tempfile.TemporaryDirectory()
clock = wb.engine.ManualClock(NOW)
manager = wb.LogManager(
    [os.path.join(home.name, "running")],
    clock=clock,
    scheduler=wb.engine.ManualScheduler(clock),
    rng=random.Random(11),
)
manager.startup(with_tasks=False)
log = manager.get_or_create_log("teas-0")
for _ in range(50):
    log.append([(NOW, b"assam", b"3.20" * 25) for _ in range(10)])
log.flush()

running = wb.open_log_directory(os.path.join(home.name, "running"))
files = running.inspect.files().to_pandas()
files[["name", "size", "occupied_bytes"]].set_index("name")

# %% [markdown]
# The widget counts what the disk holds, and shows both.

# %%
base = str(running["teas-0"].segments[-1].base_offset)
DiskUsage(running, at=["teas", "teas-0", base])

# %%
manager.shutdown()
stopped = wb.open_log_directory(os.path.join(home.name, "running")).inspect.files().to_pandas()
lengths = {"long": files["size"], "on the disk": files.occupied_bytes, "stopped": stopped["size"]}
pd.Series({name: f"{found.sum() / 1024:,.0f} KiB" for name, found in lengths.items()})

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** In the first picture, click `payments`, then its partition 1, then segment 0. What share of
# the segment is batch overhead? Escape goes up again: compare with segment 0 of `clicks-0`.
#
# <details>
# <summary>Answer</summary>
#
# **30** %, almost a third; of the other segment **3.6** %, because a batch of `clicks` has 131
# records.
#
# ```python
# for topic, number in (("payments", 1), ("clicks", 0)):
#     parts = table.query("topic == @topic and partition == @number and segment == 0")
#     by_part = parts.groupby("part").occupied_bytes.sum()
#     print(f"{topic}-{number}: {100 * by_part['batch overhead'] / by_part.sum():.2g} %")
#     headers = logs.inspect.batches(partitions=f"{topic}-{number}").to_pandas()
#     headers = headers[headers.segment == 0]
#     share = 61 * len(headers) / headers["size"].sum()
#     print(f"headers of 61 bytes are {share:.3f} of the .log file")
# ```
#
# ```output
# payments-1: 30 %
# headers of 61 bytes are 0.307 of the .log file
# clicks-0: 3.6 %
# headers of 61 bytes are 0.037 of the .log file
# ```
#
# </details>
#
# **2.** Why does a record of `clicks` take 13 bytes, and one of `orders` 260?
#
# <details>
# <summary>Answer</summary>
#
# Its producers put **131.0** records into a batch, so that they compress **4.8** times, and share
# one header. And a click is small.
#
# ```python
# print(costs.loc[["clicks", "orders"], ["records per batch", "compression"]].values.tolist())
# ```
#
# ```output
# [[131.0, 4.8], [3.2, 1.7]]
# ```
#
# </details>
#
# **3.** What share of its bytes would `orders-0` have with 100 records per batch, with each codec?
#
# <details>
# <summary>Answer</summary>
#
# A third with lz4, **34** %, and a fifth with zstd, **21** %.
#
# ```python
# held = logs.inspect.batches(partitions="orders-0").to_pandas()["size"].sum()
# for count in sizes:
#     print(count, [f"{100 * share:.0f} %" for share in sizes[count] / held])
# ```
#
# ```output
# 3 per batch ['84 %', '68 %']
# 10 per batch ['55 %', '40 %']
# 100 per batch ['34 %', '21 %']
# ```
#
# </details>
#
# **4.** How much would a retention of a week give back, and why?
#
# <details>
# <summary>Answer</summary>
#
# Nothing: retention deletes **0** bytes. At the end of the sample's week, the oldest record is
# **5.0** days old.
#
# ```python
# week = wb.what_if(logs, {"retention.ms": 7 * DAY}, now=NOW)
# print(week.summary)
# oldest = logs.inspect.batches("orders").to_pandas().base_timestamp.min()
# print(round((NOW - oldest.timestamp() * 1000) / DAY, 1), "days")
# ```
#
# ```output
# ...: retention deletes 0, cleaning removes 0; ...; 0 of 8 committed offsets expire
# 5.0 days
# ```
#
# </details>
#
# **5.** How long do the indexes of a thousand partitions seem to be while a broker runs?
#
# <details>
# <summary>Answer</summary>
#
# Two of **10** MiB for each: **20** GiB.
#
# ```python
# indexes = files[files.name.str.contains("index")]["size"]
# print(len(indexes), f"of {indexes.mean() / 2**20:.0f} MiB")
# print(f"{1000 * indexes.sum() / 2**30:.0f} GiB")
# ```
#
# ```output
# 2 of 10 MiB
# 20 GiB
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - [Retention](05_retention.ipynb) explains when a segment is deleted, and why one is not.
# - [Why was it not compacted?](03_why_was_it_not_compacted.ipynb) explains why old values are still
#   there.
# - [Is my data damaged?](12_is_my_data_damaged.ipynb) checks whether all of it can be read.
