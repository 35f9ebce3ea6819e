# %% [markdown]
# # Open a log directory
#
# What is in a log directory, and can it be read without its broker?
#
# A Kafka broker stores each partition as files in a *log directory*. This notebook opens one
# without a broker, shows its contents down to the single byte, and turns its records into
# columns.
#
# The sample is a tea shop's cluster, written by a real broker in the week of Black Friday. To
# look at a directory of your own, start the notebook with `kafka-workbench lab DIRECTORY`, or set
# `DATA` to its path. Opening only lists files; it never writes or locks anything, so you can open a
# live directory.
#
# **Run the notebook first**: choose *Run → Run All Cells* in the menu, or press Shift+Enter in one
# cell after the other. Until a cell has run, its widget is only a picture of an earlier run. At the
# end is a list of all notebooks, each with its question. What a notebook needs first is folded; a
# click on the three dots opens it.

# %% jupyter={"source_hidden": true}
import os

import workbench as wb
from widgets import LogExplorer, follow_theme

follow_theme()  # charts and tables look as the page does

SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours

logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    DATA = SAMPLE
    logs = wb.open_log_directory(DATA)
biggest = max(logs, key=lambda name: (name[:2] != "__", logs[name].size))
partition = "orders-0" if "orders-0" in logs else biggest

# %%
logs = wb.open_log_directory(DATA)
explorer = LogExplorer(logs, selected={"partition": partition})
explorer

# %% [markdown]
# ## Look around
#
# Pick a partition on the left and a segment above, then click a batch: its records are listed
# below, and the *Bytes* tab explains every byte of the batch. The dots under the batches are the
# entries of the offset index; the path from a dot to the selected batch is what a broker reads to
# find it. Zoom with the wheel or with `+` and `−`; press `?` for all keys.
#
# Values are shown. They are not in the saved notebook unless you give `show_values=True`.
#
# You can read the selection and set it. An offset alone is enough: it determines the segment and
# the batch.

# %%
start = logs[partition].log_start_offset
explorer.selected = {"partition": partition, "offset": start}
explorer.selected_batch()

# %% [markdown]
# Each view shows the Python code for its contents: click its *Python* button, or read it here.

# %%
print(explorer.query["records"])

# %% [markdown]
# ## What is where
#
# A partition is a directory of *segments*. Each segment is a `.log` file of record batches, named
# after its first offset, with two indexes: the *offset index* maps offsets to positions, the *time
# index* maps times to offsets. `logs.inspect` returns each of these as an Arrow table.

# %%
topic = logs[partition].topic

segments = logs.inspect.segments(topics=[topic]).to_pandas()
segments[["name", "base_offset", "size", "index_size", "time_index_size", "is_active"]].head(12)

# %% [markdown]
# ## Records as columns
#
# A scan reads nothing until you ask for its records. It skips segments and batches that cannot
# match, judging by their names, indexes and headers. Integers remain integers, times have a time
# zone, and a null value differs from an empty one.

# %%
scan = logs.scan(topics=[topic], columns=["partition", "offset", "timestamp", "key", "value"])
table = scan.to_arrow()
table.schema

# %%
frame = table.to_pandas()
frame["key"] = frame["key"].str.len()  # sizes only: a saved notebook keeps its output
frame["value"] = frame["value"].str.len()
frame.head()

# %%
timed = frame.dropna(subset="timestamp")  # the oldest format has no timestamps
per_hour = timed.set_index("timestamp").resample("1h").size()
if len(per_hour) > 1:
    axes = per_hour.plot.area(figsize=(10, 2.2), color="#0072B2", alpha=0.25, lw=0)
    per_hour.plot(ax=axes, color="#0072B2", lw=1.4)
    axes.set_title(f"{topic}: records per hour", loc="left", size=10)
    axes.set(xlabel="", ylim=(0, None))
    axes.spines[["top", "right", "left"]].set_visible(False)
elif len(timed):
    print(f"All {len(timed)} records of {topic} with a timestamp are from one hour.")
else:
    print(f"The records of {topic} have no timestamps.")

# %% [markdown]
# ## Committed, or only written
#
# A `read_committed` consumer does not see the records of aborted transactions, and stops before the
# first transaction that is still open. A scan can do the same.

# %%
import pandas as pd

batches = logs.inspect.batches().select(["topic", "is_transactional"]).to_pandas()
topics = [name for name in batches[batches.is_transactional].topic.unique() if name[:2] != "__"]
levels = ["read_uncommitted", "read_committed"]

pd.DataFrame(
    {
        each: [logs.scan(topics=[name], isolation_level=each).count() for name in topics]
        for each in levels
    },
    index=pd.Index(topics, name="topic"),
)

# %% [markdown]
# ## What is damaged
#
# `verify` reads every byte and reports what is wrong, where, and what a broker would do about it. A
# healthy directory has no findings. The sample includes a directory that was damaged on purpose.

# %%
DAMAGED = "../sample_data/damaged"

damaged = wb.open_log_directory(DAMAGED) if os.path.isdir(DAMAGED) else logs
findings = sorted(damaged.verify(), key=lambda finding: finding.kind != "crc")

report = pd.DataFrame(findings, columns=["kind", "severity", "path", "position", "offset", "found"])
report["path"] = ["/".join(path.split("/")[-2:]) for path in report["path"]]
report[["severity", "kind", "path", "position", "found"]].convert_dtypes().head(12)

# %%
for finding in findings[:1]:
    print(finding)
    print(finding.broker)

# %% [markdown]
# The explorer can show a finding. It marks damaged batches with color, stripes and a cross, and an
# incomplete batch at the end of a file with a dashed frame.

# %%
damage = LogExplorer(damaged)
for finding in findings[:1]:
    damage.show(finding)
damage

# %% [markdown]
# ## Spark
#
# The same scan feeds Spark, one task per segment, with the columns of Spark's own Kafka source:
# `spark.read.format("kafka-log").option("subscribe", "orders").load("/var/kafka-logs")`, after
# `wb.spark.register(spark)`. The notebook *Spark on segments* runs it.

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** Which batch holds offset 1,000 of `orders-0`? In the first explorer, type `1000` into the
# box *Go to offset or time* and press Enter. How many records does the batch have, and how are they
# compressed? The tab *Batches* shows both.
#
# <details>
# <summary>Answer</summary>
#
# The batch at byte **23421** has **11** records, offsets 992 to 1002, compressed with **lz4**.
#
# ```python
# batches = logs.inspect.batches(partitions="orders-0").to_pandas()
# batch = batches[batches.base_offset <= 1000].iloc[-1]
# print(batch.position, batch.record_count, batch.codec, batch.base_offset, batch.last_offset)
# ```
#
# ```output
# 23421 11 lz4 992 1002
# ```
#
# </details>
#
# **2.** Not every producer of `orders` compresses. How many of its batches are not compressed? A
# group-by over `logs.inspect.batches()` counts them.
#
# <details>
# <summary>Answer</summary>
#
# **353** batches: those of the till in Berlin.
#
# ```python
# batches = logs.inspect.batches(topics=["orders"]).to_pandas()
# print(batches.codec.value_counts().to_dict())
# ```
#
# ```output
# {'lz4': 1274, 'none': 353}
# ```
#
# </details>
#
# **3.** In the last explorer, click the batch with the cross. What is wrong with it, and which CRC
# would be valid? The tab *Bytes* marks the field that is wrong.
#
# <details>
# <summary>Answer</summary>
#
# The stored CRC does not match the bytes; **2ab1da8b** would.
#
# ```python
# (finding,) = [each for each in findings if "flipped-byte" in each.path]
# print(f"{finding.found}, {finding.expected}")
# ```
#
# ```output
# the CRC does not match: CRC ebc1fd13 stored, 2ab1da8b computed
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# Each notebook answers a question. A click on its title opens it.
#
# - [How a log is written](02_how_a_log_is_written.ipynb): how does a record become bytes, and what
#   does a crash leave of them?
# - [Why was it not compacted?](03_why_was_it_not_compacted.ipynb) A topic is compacted, and yet it
#   holds old values.
# - [Step through a compaction](04_step_through_a_compaction.ipynb): why is this record still there,
#   and why is that one gone?
# - [Retention](05_retention.ipynb): why are records kept longer than expected, or deleted earlier?
# - [Spark on segments](06_spark_on_segments.ipynb): how does Spark read a cluster's disks, and what
#   does it find there?
# - [Arrow, DuckDB, Polars, pandas](07_arrow_duckdb_polars.ipynb): how do records become columns on
#   one machine?
# - [Where do my consumers stand?](08_where_do_my_consumers_stand.ipynb) How far are they, and why
#   did they start over?
# - [Replication and the high watermark](09_replication_and_the_high_watermark.ipynb): when is a
#   record safe, and how did replicas lose it?
# - [A request from socket to segment](10_a_request_from_socket_to_segment.ipynb): what happens
#   between a consumer's `poll()` and the file?
# - [What fills the disk?](11_what_fills_the_disk.ipynb) Which topic, and is it values, keys,
#   headers or overhead?
# - [Is my data damaged?](12_is_my_data_damaged.ipynb) Which records can still be read, and what
#   would a broker do?
# - [Transactions in lanes](13_transactions_in_lanes.ipynb): why does a `read_committed` consumer
#   get no further?
# - [From three dead brokers to a dashboard](14_from_dead_brokers_to_a_dashboard.ipynb): how do the
#   records of a lost cluster become a table?
# - [How an offset is committed](15_how_an_offset_is_committed.ipynb): where does a commit go, and
#   when is it gone?
#
# `kafka-workbench --help` lists what the command line does: list, dump, search, verify and export
# among others.
