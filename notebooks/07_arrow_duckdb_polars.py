# %% [markdown]
# # Arrow, DuckDB, Polars, pandas
#
# How do the records of a log become columns in the tools of one machine?
#
# A scan turns segments into Arrow columns, many records at a time and without a broker. Every other
# tool reads this one stream, so you get the same count wherever you count.
#
# The sample is the tea shop's week of Black Friday. The queries know its topics and the fields of
# its values, so this notebook reads the sample even if `kafka-workbench lab` was given a directory
# of yours; `wb.open_log_directory` opens yours just so.

# %% jupyter={"source_hidden": true}
import os
import tempfile
import warnings

import matplotlib.pyplot as plt
import pandas as pd
import polars as pl
import pyarrow as pa

import workbench as wb
from widgets import LogExplorer, TransactionLanes, follow_theme

follow_theme()  # charts and tables look as the page does
SAMPLE = "../sample_data/shop-4.3.1"

logs = wb.open_log_directory(SAMPLE)

# %% [markdown]
# ## Arrow
#
# On the disk, records are in batches, one after the other, compressed. Select one: its records are
# what a scan puts into columns.

# %%
LogExplorer(logs, selected={"partition": "clicks-0", "segment": 0})

# %% [markdown]
# Creating a scan reads nothing. `columns` selects columns; the scan does not decode the others. A
# batch reader streams batches of a few MiB and reuses their memory, so the log can be larger than
# this machine's memory.

# %%
clicks = logs.scan(topics="clicks", columns=["partition", "offset", "timestamp", "value"])

records = size = 0
for batch in clicks.to_arrow_batch_reader():
    records += batch.num_rows
    size += batch.nbytes
print(f"{records:,} records, {size / 2**20:.1f} MiB of columns, one batch at a time")

# %% [markdown]
# `to_arrow()` loads all of them. Any library with the Arrow C stream interface takes the scan
# itself: `pl.DataFrame(clicks)`, `pa.RecordBatchReader.from_stream(clicks)`.

# %%
pl.DataFrame(clicks).group_by("partition").agg(pl.len(), pl.col("offset").max()).sort("partition")

# %% [markdown]
# ## Values as columns
#
# To Kafka, a value is just bytes. `decode` says how to read them: as `utf8`, or as `json`, which
# becomes a struct. The scan infers the struct's type from the first records of each partition; you
# can also specify it.

# %%
decode = {"key": "utf8", "value": "json"}
orders = logs.scan(topics="orders", columns=["offset", "timestamp", "key", "value"], decode=decode)
orders.schema.field("value").type

# %% [markdown]
# `flatten` makes each field of the struct a column, named as in `columns=["$.total_cents"]`:

# %%
orders.flatten().to_arrow().schema.names

# %% [markdown]
# ## pandas
#
# Offsets, producer ids and amounts of money are integers and remain integers: if one can be
# missing, the column is a nullable integer, never a float. With `dtype_backend` you get pandas' own
# nullable types, or Arrow's, in all columns.

# %%
columns = ["topic", "offset", "timestamp", "producer_id", "sequence"]
everyone = logs.scan(columns=columns, isolation_level="read_committed")
backends = {"by default": None, "numpy_nullable": "numpy_nullable", "pyarrow": "pyarrow"}
pd.DataFrame({name: everyone.to_pandas(backend).dtypes for name, backend in backends.items()})

# %% [markdown]
# ## Polars
#
# What sells? Each order has a list of items; Polars unpacks structs and lists.

# %%
sold = (
    orders.to_polars()
    .select(pl.col("value").struct.field("items"))
    .explode("items")
    .unnest("items")
    .group_by("sku", "name")
    .agg(pl.col("quantity").sum(), (pl.col("quantity") * pl.col("cents")).sum().alias("cents"))
    .sort("cents", descending=True)
)
sold.head(5)

# %%
COLORS = {"TEA": "#009E73", "POT": "#0072B2", "KIT": "#E69F00", "": "#9ca3af"}
KINDS = {"TEA": "tea", "POT": "pots", "KIT": "kitchen", "": "other"}
top = sold.head(12).reverse()
axes = plt.figure(figsize=(10, 3.8)).gca()
axes.barh(
    top["name"],
    top["cents"] / 100,
    color=[COLORS.get(sku[:3], COLORS[""]) for sku in top["sku"]],
    height=0.72,
)
axes.set_title("Revenue by product, EUR", loc="left", size=10)
axes.xaxis.set_major_formatter("{x:,.0f}")
axes.tick_params(left=False)
handles = [plt.Rectangle((0, 0), 1, 1, color=COLORS[kind]) for kind in KINDS]
axes.legend(handles, KINDS.values(), frameon=False, loc="lower right")
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# ## DuckDB
#
# `logs.to_duckdb()` makes every topic a view. Each query reads the segments again, as a stream; for
# many queries, store the records first: `CREATE TABLE o AS FROM orders`. Here: when do people buy,
# how do they pay, and is every order paid in full?

# %%
connection = logs.to_duckdb(
    topics=["orders", "payments", "customers"],
    columns=["offset", "timestamp", "key", "value", "committed"],
    decode=decode,
    isolation_level="read_uncommitted",  # without it, a warning says what is included
)
connection.sql("SET TimeZone = 'UTC'; SET enable_progress_bar = false")

connection.sql(
    """
    SELECT count(*) AS orders, sum(p.value.cents)::BIGINT AS cents,
           bool_and(o.value.total_cents = p.value.cents) AS in_full
    FROM payments p JOIN orders o ON p.value.order_id = o.key
    """
).pl()

# %% [markdown]
# Every order is paid in full, says this join, and it is wrong, twice. It counts payments whose
# transaction was *aborted*: their records stay in the log, and only a `read_committed` consumer
# skips them. And an inner join can never find an order without a payment. So ask with a left join,
# and of committed payments only:

# %%
paid = connection.sql(
    """
    SELECT hour(o.timestamp) AS hour, coalesce(p.value.method, 'not paid') AS method,
           count(*) AS orders, sum(o.value.total_cents)::BIGINT AS cents
    FROM orders o LEFT JOIN payments p ON p.value.order_id = o.key AND p.committed
    GROUP BY ALL ORDER BY hour
    """
).pl()
paid.group_by("method").agg(pl.col("orders").sum(), pl.col("cents").sum()).sort(
    "cents", descending=True
)

# %% [markdown]
# 345 of 5,200 orders are not paid: 26,798.80 EUR of 385,515.90. The lanes show their transactions,
# each with the marker that ended it; the orange ones were aborted.

# %%
TransactionLanes(logs, partition="payments-0", window=[0, 400])

# %% [markdown]
# DuckDB can also query the data frames of this notebook.

# %%
methods = ["card", "paypal", "invoice", "not paid"]
hours = connection.sql("PIVOT paid ON method USING sum(cents) GROUP BY hour ORDER BY hour").pl()
hours = hours.fill_null(0)
axes = plt.figure(figsize=(10, 2.8)).gca()
axes.stackplot(
    hours["hour"],
    [hours[method] / 100 for method in methods],
    labels=methods,
    colors=["#0072B2", "#56B4E9", "#E69F00", "#9ca3af"],
)
axes.set_title("Orders by hour of the day (UTC) and payment method, EUR", loc="left", size=10)
axes.set(xlim=(0, 23), xticks=range(0, 24, 3))
axes.set_xticklabels([f"{hour}:00" for hour in range(0, 24, 3)])
axes.yaxis.set_major_formatter("{x:,.0f}")
axes.legend(frameon=False, loc="upper left", reverse=True)
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# A compacted topic is a table: the newest record of each key is its row. DuckDB's `QUALIFY` selects
# it.

# %%
connection.sql(
    """
    WITH customer AS (
        SELECT key AS customer_id, value FROM customers
        QUALIFY row_number() OVER (PARTITION BY key ORDER BY "offset" DESC) = 1
    )
    SELECT c.value.country AS country, count(*) AS orders,
           count(DISTINCT c.customer_id) AS customers,
           round(sum(o.value.total_cents) / 100.0, 2) AS eur
    FROM orders o JOIN customer c ON o.value.customer_id = c.customer_id
    GROUP BY country ORDER BY eur DESC LIMIT 6
    """
).pl()

# %% [markdown]
# ## What cannot be decoded
#
# Topics hold whatever producers wrote, even by mistake. A value that is not JSON becomes null, and
# so does a field that does not fit the given type; it does not stop the scan. The scan warns, and
# its findings say how many such values there are and where. Here the given type is too narrow:
# milliseconds in eight bits.

# %%
narrow = pa.schema([("page", pa.string()), ("ms", pa.int8())])
scan = logs.scan(topics="clicks", columns=["offset", "value"], decode={"value": narrow}, limit=1000)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", wb.CorruptDataWarning)
    table = scan.to_arrow()
for finding in scan.findings:
    print(f"{finding.kind}: {finding.found}, the first at offset {finding.offset}")
pl.from_arrow(table).head(5).unnest("value")

# %% [markdown]
# With `on_corrupt="raise"` the scan stops there instead. A scan without `decode` gives the original
# bytes.

# %% [markdown]
# ## Parquet
#
# `to_parquet` streams, too: it writes a row group at a time (`row_group_bytes`, default: 16 MiB).
# Here the row groups are smaller, so that there are several. The file holds the decoded values, and
# any tool can read it.

# %%
home = tempfile.TemporaryDirectory()
path = os.path.join(home.name, "clicks.parquet")

everything = logs.scan(topics="clicks", decode=decode)
count = everything.to_parquet(path, row_group_bytes=4 << 20)
on_disk = sum(partition.size for partition in logs.values() if partition.topic == "clicks")
print(f"{count:,} records: {on_disk:,} bytes of segments, {os.path.getsize(path):,} of Parquet")

connection.read_parquet(path).aggregate(
    "value.action AS action, count(*) AS clicks, round(avg(value.ms), 1) AS mean_ms"
).order("clicks DESC").pl()

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** Ask DuckDB: which channel sent the most orders?
#
# <details>
# <summary>Answer</summary>
#
# **web-shop**, with **3057** orders.
#
# ```python
# found = connection.sql(
#     "SELECT value.channel AS channel, count(*) AS orders FROM orders GROUP BY ALL ORDER BY 2 DESC"
# )
# print(found.fetchall())
# print(logs.scan("orders", columns="$.channel").to_pandas()["$.channel"].value_counts().iloc[0])
# ```
#
# ```output
# [('web-shop', 3057), ('mobile-app', 1529), ('till-berlin', 614)]
# 3057
# ```
#
# </details>
#
# **2.** How many customers left? In a compacted topic, their key has a null value: a tombstone.
#
# <details>
# <summary>Answer</summary>
#
# **35**.
#
# ```python
# left = connection.sql("SELECT count(DISTINCT key) FROM customers WHERE value IS NULL")
# print(left.fetchall())
# ```
#
# ```output
# [(35,)]
# ```
#
# </details>
#
# **3.** How many orders are not paid, and what are they worth? Count without SQL.
#
# <details>
# <summary>Answer</summary>
#
# **345** of **5200**, worth **26798.80** of **385515.90** EUR; **358717.10** EUR are paid.
#
# ```python
# bought = logs.scan("orders", columns=["key", "$.total_cents"]).to_pandas()
# committed = logs.scan("payments", columns="$.order_id", isolation_level="read_committed")
# is_paid = bought.key.map(bytes.decode).isin(set(committed.to_pandas()["$.order_id"]))
# euros = bought["$.total_cents"].groupby(is_paid).sum() / 100
# print((~is_paid).sum(), "of", len(bought))
# print(*(f"{each:.2f}" for each in (euros[False], euros.sum(), euros[True])))
# ```
#
# ```output
# 345 of 5200
# 26798.80 385515.90 358717.10
# ```
#
# </details>
#
# **4.** What does the scan of `clicks` find if the type of `ms` is `int16` instead of `int8`?
#
# <details>
# <summary>Answer</summary>
#
# **0** findings: no page took longer than **130** ms, and `int16` holds up to 32,767.
#
# ```python
# wider = pa.schema([("page", pa.string()), ("ms", pa.int16())])
# again = logs.scan(topics="clicks", columns=["value"], decode={"value": wider}, limit=1000)
# again.to_arrow()
# longest = logs.scan("clicks", columns="$.ms", limit=1000).to_pandas()["$.ms"].max()
# print(len(again.findings), "findings; the longest took", longest, "of at most", 2**15 - 1)
# ```
#
# ```output
# 0 findings; the longest took 130 of at most 32767
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - [Spark on segments](06_spark_on_segments.ipynb) reads more data than one machine can.
# - `kafka-workbench export DIR FILE` writes Parquet or CSV from the command line.
