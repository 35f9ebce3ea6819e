# %% [markdown]
# # Open a log directory
#
# A Kafka broker keeps each partition as files in a *log directory*. This notebook opens one
# without a broker, shows what is in it down to the single byte, and turns its records into
# columns.
#
# The sample is a tea shop's cluster, written by a real broker in the week of Black Friday. To
# look at a directory of your own, start the notebook with `kafka-workbench lab DIRECTORY`, or put
# its path into `DATA`. Opening only lists files; nothing is ever written or locked, so a live
# directory is fine.

# %%
import os

import workbench as wb

DATA = os.environ.get("KAFKA_WORKBENCH_DATA", "../sample_data/shop-4.3.1")

logs = wb.open_log_directory(DATA)
logs

# %% [markdown]
# ## What is where
#
# A partition is a folder of *segments*. Each segment is a `.log` file of record batches, named
# for its first offset, with a sparse index from offsets to positions and one from times to
# offsets. `logs.inspect` has each of these as an Arrow table.

# %%
partition = "orders-0" if "orders-0" in logs else max(logs, key=lambda name: logs[name].size)
topic = logs[partition].topic

segments = logs.inspect.segments(topics=[topic]).to_pandas()
segments[["name", "base_offset", "size", "index_size", "time_index_size", "is_active"]].head(12)

# %% [markdown]
# ## Look around
#
# Pick a partition on the left and a segment above, then click a batch: its records are listed
# below, and the *Bytes* tab names every byte of it. The dots under the batches are the entries of
# the sparse index; the path from a dot to the selected batch is what a broker reads to find it.
# Zoom with the wheel or with `+` and `−`, press `?` for all keys.
#
# Values stay in the kernel until you ask for them with `show_values=True`.

# %%
from widgets import LogExplorer

explorer = LogExplorer(logs, selected={"partition": partition})
explorer

# %% [markdown]
# The selection is yours to read and to set. An offset alone is enough: segment and batch follow.

# %%
start = logs[partition].log_start_offset
explorer.selected = {"partition": partition, "offset": start}
explorer.selected_batch()

# %% [markdown]
# Every view tells the Python that gives what it shows: behind its *Python* button, and here.

# %%
print(explorer.query["records"])

# %% [markdown]
# ## Records as columns
#
# A scan reads nothing until it is asked to. It leaves out segments and batches that cannot match,
# by their names, indexes and headers. Integers stay integers, times carry their zone, and a null
# value is not an empty one.

# %%
scan = logs.scan(topics=[topic], columns=["partition", "offset", "timestamp", "key", "value"])
table = scan.to_arrow()
table.schema

# %%
frame = table.to_pandas()
frame["key"] = frame["key"].str.len()  # sizes only: a saved notebook keeps what it shows
frame["value"] = frame["value"].str.len()
frame.head()

# %%
per_hour = frame.dropna(subset="timestamp").set_index("timestamp").resample("1h").size()
axes = per_hour.plot.area(figsize=(10, 2.2), color="#0072B2", alpha=0.25, lw=0)
per_hour.plot(ax=axes, color="#0072B2", lw=1.4)
axes.set_title(f"{topic}: records an hour", loc="left", size=10)
axes.set(xlabel="", ylim=(0, None))
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# ## Committed, or only written
#
# A consumer that reads `read_committed` does not see records of aborted transactions, and stops
# before the first transaction that is still open. A scan does the same.

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
# `verify` reads every byte and says what is wrong, where, and what a broker would do about it. A
# healthy directory has no findings. The sample has a directory that was damaged on purpose.

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
# The explorer goes to a finding. Damaged batches are marked with colour, stripes and a cross, and
# the end of a file that is not a whole batch with a dashed frame.

# %%
damage = LogExplorer(damaged)
for finding in findings[:1]:
    damage.show(finding)
damage

# %% [markdown]
# ## Spark
#
# The same scan feeds Spark, one task for each segment, with the columns of Spark's own Kafka
# source. A session of your own learns the format by `wb.spark.register(spark)`.

# %%
spark = wb.spark.session()
spark.sparkContext.setLogLevel("ERROR")

records = spark.read.format("kafka-log").option("subscribe", topic).load(DATA)
records.groupBy("topic", "partition").count().orderBy("partition").show()

spark.stop()

# %% [markdown]
# ## Next
#
# - `logs.scan(...)` also gives Polars, DuckDB and Parquet: `to_polars()`, `to_duckdb()`,
#   `to_parquet(path)`.
# - `kafka-workbench --help`: list, dump, search, verify and export from the command line.
# - How batches, index entries and segments come about: `02_how_a_log_is_written`.
