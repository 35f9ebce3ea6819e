# %% [markdown]
# # From three dead brokers to a dashboard
#
# A cluster is gone. What is left are the disks of its three brokers: the replicas of one partition
# are on two of them, some lag behind, and no broker will start again. How do the records become a
# table that SQL can ask, and how does the table stay exact when another disk is found a day later?
#
# `to_table` reads of each partition the replica that is ahead, and writes Parquet, Delta or
# Iceberg. Up to where it came is kept *in the table*, in the same commit as the records: so each
# record is loaded once, whatever moment a run is killed at.
#
# The sample is the tea shop's week of Black Friday. The queries know its topics and the fields of
# its values, so this notebook reads the sample even if `kafka-workbench lab` was given a directory
# of yours.

# %% jupyter={"source_hidden": true}
import shutil
import tempfile
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import pandas as pd

import workbench as wb
from widgets import ReplicaLanes, follow_theme

follow_theme()  # charts and tables look as the page does

# %% [markdown]
# ## Three disks
#
# The sample was written by one broker. To get a cluster, each partition is copied to two of three
# disks, and the second copy lacks the newest segment: its broker had stopped fetching. Then the
# cluster dies. For now, only the disks of brokers 1 and 2 are found.

# %% jupyter={"source_hidden": true}
SAMPLE = Path("../sample_data/shop-4.3.1")
TOPICS = ["orders", "payments", "customers"]
home = tempfile.TemporaryDirectory()
brokers = {number: Path(home.name, f"broker-{number}") for number in (1, 2, 3)}

for number, disk in brokers.items():
    disk.mkdir()
    meta = (SAMPLE / "meta.properties").read_text()
    disk.joinpath("meta.properties").write_text(meta.replace("node.id=1", f"node.id={number}"))

partitions = sorted(folder for topic in TOPICS for folder in SAMPLE.glob(f"{topic}-?"))
for place, folder in enumerate(partitions):
    leader, follower = brokers[place % 3 + 1], brokers[(place + 1) % 3 + 1]
    shutil.copytree(folder, leader / folder.name)
    shutil.copytree(folder, follower / folder.name)
    newest = max(folder.glob("*.log")).stem
    for file in (follower / folder.name).glob(f"{newest}.*"):
        file.unlink()  # the follower had not fetched it yet

found_first = [brokers[1], brokers[2]]
ReplicaLanes(wb.compare_replicas(brokers))

# %% [markdown]
# Choose a partition at the top. Each replica has a lane; the longer one is ahead.

# %% [markdown]
# ## The first load
#
# Values are JSON: each of their fields becomes a column. What the load does not take is counted,
# and the numbers of each row add up to the log end offset: `aborted` records of payments that
# failed, `control` records that end transactions, offsets that were `compacted` away, and those
# `waiting` for a transaction that never ended.

# %%
table = Path(home.name, "shop")
options = {"topics": TOPICS, "decode": {"key": "utf8", "value": "json"}}
told = []

first = wb.to_table(found_first, table, tell=told.append, **options).to_pandas()
print(told[0].replace(home.name, "…"))
NUMBERS = ["before", "records", "aborted", "control", "compacted", "waiting", "log_end_offset"]
first.set_index(["topic", "partition"])[NUMBERS]

# %% [markdown]
# A table is a folder that every tool can read: a folder per topic, in it a folder per day (UTC).

# %%
files = sorted(path.relative_to(table) for path in table.glob("by_topic=*/*/*.parquet"))
for path in files[:3]:
    print(f"{path.parent}: {(table / path).stat().st_size:,} bytes")
print(f"… {len(files)} files, and {len(list(table.glob('_manifests/*')))} manifest: the commit")

# %% [markdown]
# ## The third disk is found
#
# Broker 3 led some of the partitions, so its replicas are longer. The same call takes what the
# table does not have: nothing is loaded twice, and nothing has to be remembered outside of the
# table.

# %%
second = wb.to_table(brokers.values(), table, tell=told.append, **options).to_pandas()
second.set_index(["topic", "partition"])[NUMBERS].query("records > 0")

# %% [markdown]
# And once more: there is nothing new.

# %%
again = wb.to_table(brokers.values(), table, tell=told.append, **options).to_pandas()
print(again["records"].sum(), "records in the third run")

# %% [markdown]
# ## Is it exact?
#
# The sample itself is the truth: what a `read_committed` consumer of the broker would have got.
# DuckDB reads the folders; the table has each record once.

# %%
connection = duckdb.connect()
connection.sql("SET TimeZone = 'UTC'")
connection.sql(
    f"""
    CREATE VIEW shop AS
    FROM read_parquet('{table}/**/*.parquet', union_by_name = true, hive_partitioning = true)
    """
)
whole = wb.open_log_directory(SAMPLE)
truth = {topic: len(whole.scan(topic, isolation_level="read_committed")) for topic in TOPICS}
loaded = connection.sql(
    'SELECT topic, count(*) AS records, count(DISTINCT (partition, "offset")) AS places '
    "FROM shop GROUP BY topic"
).df()
loaded["truth"] = loaded["topic"].map(truth)
loaded.set_index("topic")

# %% [markdown]
# ## The customers as they are now
#
# `customers` is a compacted topic: the newest record of a key is its row, and one without a value
# deletes it. With `mode="upsert"` a table is kept like that, in one row per customer. `{topic}` in
# the name gives each topic a table of its own.

# %%
now = wb.to_table(
    brokers.values(),
    Path(home.name, "now", "{topic}"),
    topics="customers",
    decode=options["decode"],
    mode="upsert",
    tell=told.append,
).to_pandas()
now.set_index(["topic", "partition"])[["records", "superseded", "tombstones", "compacted"]]

# %%
customers = Path(home.name, "now", "customers")
connection.sql(
    f"CREATE VIEW customers AS FROM read_parquet('{customers}/**/*.parquet', union_by_name = true)"
)
connection.sql(
    "SELECT country, count(*) AS customers FROM customers GROUP BY ALL ORDER BY 2 DESC"
).df()

# %% [markdown]
# ## The dashboard
#
# Four questions about the week, in SQL over the tables: what was sold when, who paid how, from
# where, and what the card provider's bad afternoon cost. No broker runs, and no Spark is needed.

# %% jupyter={"source_hidden": true}
by_hour = connection.sql(
    """
    SELECT time_bucket(INTERVAL 3 HOUR, timestamp) AS hour, channel, sum(total_cents) / 100 AS eur
    FROM shop WHERE topic = 'orders' GROUP BY ALL ORDER BY hour
    """
).df()
paid = connection.sql(
    """
    SELECT method, count(*) AS payments, sum(cents) / 100 AS eur
    FROM shop WHERE topic = 'payments' GROUP BY ALL ORDER BY eur
    """
).df()
countries = connection.sql(
    """
    SELECT c.country, sum(o.total_cents) / 100 AS eur
    FROM shop o JOIN customers c ON o.customer_id = c.key
    WHERE o.topic = 'orders' GROUP BY ALL ORDER BY eur DESC LIMIT 6
    """
).df()
per_hour = connection.sql(
    """
    SELECT time_bucket(INTERVAL 1 HOUR, o.timestamp) AS hour,
           coalesce(sum(o.total_cents) FILTER (p.order_id IS NOT NULL), 0) / 100 AS paid,
           coalesce(sum(o.total_cents) FILTER (p.order_id IS NULL), 0) / 100 AS unpaid,
           count(*) FILTER (p.order_id IS NULL) AS orders
    FROM shop o LEFT JOIN (FROM shop WHERE topic = 'payments') p ON p.order_id = o.order_id
    WHERE o.topic = 'orders' AND o.day = DATE '2024-11-27' GROUP BY ALL ORDER BY hour
    """
).df()

# %% jupyter={"source_hidden": true}
BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
figure, axes = plt.subplots(2, 2, figsize=(11, 6), width_ratios=[3, 2], layout="constrained")
week, methods, lost, where = axes[0, 0], axes[0, 1], axes[1, 0], axes[1, 1]

channels = by_hour.pivot_table(index="hour", columns="channel", values="eur", fill_value=0)
week.stackplot(
    channels.index, channels.to_numpy().T, labels=channels.columns, colors=[SKY, ORANGE, BLUE]
)
week.set_title("Orders by channel, EUR in three hours", loc="left", size=10)
week.legend(frameon=False, loc="upper left")
methods.barh(paid["method"], paid["eur"], color=GREEN, height=0.6)
methods.set_title("Paid, EUR by method", loc="left", size=10)
bars = {"width": 0.032, "align": "edge"}
lost.bar(per_hour["hour"], per_hour["paid"], color=BLUE, label="paid", **bars)
lost.bar(
    per_hour["hour"], per_hour["unpaid"], bottom=per_hour["paid"], color="#D55E00",
    label="not paid", **bars,
)  # fmt: skip
lost.legend(frameon=False, loc="upper left")
outage = [pd.Timestamp("2024-11-27T14:00"), pd.Timestamp("2024-11-27T17:00")]
lost.axvspan(*outage, color=ORANGE, alpha=0.25, lw=0, zorder=0)
lost.set_title("Orders on Wednesday, EUR: the card provider was down", loc="left", size=10)
lost.xaxis.set_major_formatter(lambda at, _: f"{round(at % 1 * 24):02d}:00")
where.barh(countries["country"][::-1], countries["eur"][::-1], color=SKY, height=0.6)
where.set_title("Orders, EUR by country of the customer", loc="left", size=10)
for each in axes.flat:
    each.spines[["top", "right"]].set_visible(False)
week.yaxis.set_major_formatter("{x:,.0f}")
week.xaxis.set_major_locator(plt.matplotlib.dates.DayLocator())
week.xaxis.set_major_formatter(plt.matplotlib.dates.DateFormatter("%a %d"))
lost.yaxis.set_major_formatter("{x:,.0f}")
lost.set_ylim(0, 1.1 * (per_hour["paid"] + per_hour["unpaid"]).max())
for each in (methods, where):
    each.xaxis.set_major_formatter("{x:,.0f}")
    each.tick_params(left=False)

# %%
afternoon = per_hour[per_hour["hour"].dt.hour.between(14, 16)]
print(f"{afternoon['orders'].sum()} orders not paid: {afternoon['unpaid'].sum():,.2f} EUR")

# %% [markdown]
# So that is what the afternoon cost: 73 orders, 6,029.10 EUR. A payment whose transaction was
# aborted is not in the table, so its order has none.
#
# What was loaded from where? The rows of the first and the second run know.

# %% jupyter={"source_hidden": true}
runs = pd.DataFrame(
    {
        "brokers 1 and 2": first.groupby("topic")["records"].sum(),
        "with broker 3": second.groupby("topic")["records"].sum(),
    }
)
axes = runs.plot.barh(stacked=True, figsize=(9, 1.9), color=[BLUE, ORANGE], width=0.6)
axes.set_title("Records by the run that loaded them", loc="left", size=10)
axes.set_ylabel("")
axes.xaxis.set_major_formatter("{x:,.0f}")
axes.legend(frameon=False, loc="lower right")
axes.tick_params(left=False)
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# ## Delta, Iceberg, and one command
#
# `table_format="delta"` or `"iceberg"` writes such a table without Spark; positions are in the
# transactions of Delta and in the properties of Iceberg, so that a commit moves both. On the
# command line, the first load of one topic of the three is
#
# ```sh
# kafka-workbench to-table broker-1 broker-2 --to lake/shop -t orders --value-format json
# ```

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** How many records did the third disk bring?
#
# <details>
# <summary>Answer</summary>
#
# **457**.
#
# ```python
# print(second["records"].sum())
# print(sum(truth.values()) - first["records"].sum())  # what the first load could not see
# ```
#
# ```output
# 457
# 457
# ```
#
# </details>
#
# **2.** What did the afternoon cost? Count the aborted payments in the log itself.
#
# <details>
# <summary>Answer</summary>
#
# **73** payments were aborted between 14:00 and 17:00, of **6029.10** EUR.
#
# ```python
# fields = ["timestamp", "committed", "$.cents"]
# sent = whole.scan("payments", columns=fields, isolation_level="read_uncommitted").to_pandas()
# wednesday = sent[(sent.timestamp.dt.day == 27) & sent.timestamp.dt.hour.between(14, 16)]
# failed = wednesday[~wednesday.committed]
# print(len(failed), f"{failed['$.cents'].sum() / 100:.2f}")
# ```
#
# ```output
# 73 6029.10
# ```
#
# </details>
#
# **3.** Which customer of the table spent the most, in cents?
#
# <details>
# <summary>Answer</summary>
#
# **C-10007**, with **499780** cents.
#
# ```python
# best = connection.sql(
#     "SELECT customer_id, sum(total_cents) AS cents FROM shop WHERE topic = 'orders' "
#     "GROUP BY ALL ORDER BY cents DESC LIMIT 1"
# )
# print(best.fetchall())
# spent = whole.scan("orders", columns=["$.customer_id", "$.total_cents"]).to_pandas()
# spent = spent.groupby("$.customer_id")["$.total_cents"].sum()
# print(spent.idxmax(), spent.max())  # the log itself
# ```
#
# ```output
# [('C-10007', 499780)]
# C-10007 499780
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - [Arrow, DuckDB, Polars, pandas](07_arrow_duckdb_polars.ipynb) asks the logs themselves, without
#   a table.
# - [Is my data damaged?](12_is_my_data_damaged.ipynb) says what of a disk can still be read.
