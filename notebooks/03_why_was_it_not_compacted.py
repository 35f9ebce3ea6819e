# %% [markdown]
# # Why was it not compacted?
#
# A topic is compacted, and yet its log holds old values. The cleaner follows about a dozen rules,
# and a broker does not say which of them applied. This notebook checks each rule, and shows the
# numbers that decide it.
#
# The sample is a tea shop's cluster, written by a real broker; `kafka-workbench lab DIRECTORY`
# takes a directory of yours. The files do not change: the log is loaded as a starting broker loads
# it, with every change kept in memory.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import random
import tempfile
import time

import ipywidgets
import pandas as pd
import traitlets

import workbench as wb
from widgets import CleanerView, LogExplorer, Stack, follow_theme

follow_theme()  # charts and tables look as the page does

# %% jupyter={"source_hidden": true}
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours
HOUR = 3_600_000
DAY = 24 * HOUR
pd.set_option("display.max_colwidth", None)

logs = wb.open_log_directory(DATA)
cleaning = logs.inspect.cleaning().to_pandas()
if not cleaning.is_compacted.any():
    print(f"{DATA} has no compacted topic. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)

NOW = int(time.time() * 1000)
if DATA == SAMPLE:
    NOW = 1_732_924_800_000  # ms: 30 November 2024, the end of the sample's week

# %% [markdown]
# ## All logs at a glance
#
# One row per partition: is it compacted, up to which offset is it clean, how much of it is dirty,
# and is it due? Which topics are compacted is recorded in `__cluster_metadata`, if the directory
# has that log.

# %%
cleaning = logs.inspect.cleaning(now=NOW).to_pandas()
columns = ["topic", "partition", "first_dirty_offset", "bound", "ratio", "threshold", "is_due"]
compacted = cleaning[cleaning.is_compacted]
compacted[columns].convert_dtypes().set_index(["topic", "partition"])

# %% [markdown]
# ## One partition
#
# Here is the dirtiest log. In the sample that is `customers-0`: three quarters of it are dirty, and
# yet it is not due. Its segments, from left to right: the *clean* ones, up to the end of the last
# round; the *dirty* ones after the checkpoint; and the *active* one, which the cleaner never
# cleans. Below are the rules in the order in which the cleaner applies them. Click one to see where
# it is in Kafka's code.

# %%
dirtiest = compacted.sort_values(["ratio", "partition"], ascending=[False, True]).iloc[0]
TOPIC = dirtiest.topic
PARTITION = f"{TOPIC}-{dirtiest.partition}"
view = CleanerView(logs[PARTITION], now=NOW)
view

# %% [markdown]
# So that is why: `min.cleanable.dirty.ratio` of `customers` is 1, and no ratio is *more* than that.
# People set it to 1 so that the cleaner runs rarely; but then it never runs, unless
# `max.compaction.lag.ms` is set.
#
# The view and the explorer follow each other. Click a segment in either.

# %%
middle = logs[PARTITION].segments[(len(logs[PARTITION].segments) - 1) // 2]
explorer = LogExplorer(logs, selected={"partition": PARTITION, "segment": middle.base_offset})
traitlets.link((explorer, "selected"), (view, "selected"))
explorer

# %% [markdown]
# ## What if?
#
# You can apply the rules under another configuration. With Kafka's default, one half, the cleaner
# would clean the log at once. `plan_cleaning` shows what that would save.

# %%
half = {f"{TOPIC}:min.cleanable.dirty.ratio": 0.5}
print(logs[PARTITION].explain_cleaning(half, now=NOW).conclusion)
logs[PARTITION].plan_cleaning(half, now=NOW)

# %% [markdown]
# ## What if we wait?
#
# Two rules depend on time. `min.compaction.lag.ms` is the age that records must reach before they
# can be cleaned; `max.compaction.lag.ms` is the age of the first dirty record that makes a log due,
# however clean the log is. Move the clock: with a lag of one day, one segment after the other
# becomes cleanable. (Kafka has the two rules since 0.10.1 and 2.3: the broker that is assumed here
# is one of 4.3, whichever wrote the log.)

# %%
lag = half | {f"{TOPIC}:min.compaction.lag.ms": DAY}
waiting = CleanerView(logs[PARTITION], lag, now=NOW, kafka="4.3")
hours = ipywidgets.IntSlider(
    0, -30, 48, description="hours from now", style={"description_width": "initial"},
    layout={"width": "480px"}, continuous_update=False,
)  # fmt: skip


hours.observe(
    lambda change: waiting.show(lag, now=NOW + change["new"] * HOUR, kafka="4.3"), names="value"
)
hours.value = -12
Stack([hours, waiting])

# %% [markdown]
# ## The usual reasons
#
# Here are five small logs. Each has three values of one key, and each is not cleaned for a
# different reason.

# %% jupyter={"source_hidden": true}
home = tempfile.TemporaryDirectory()
clock = wb.engine.ManualClock(NOW)
SETTINGS = {
    "clean-enough": {},
    "active": {},
    "policy": {"cleanup.policy": "delete"},
    "young": {"min.compaction.lag.ms": 12 * HOUR},
    "open": {},
}
topics = {name: {"cleanup.policy": "compact"} | own for name, own in SETTINGS.items()}
manager = wb.LogManager(
    [home.name],
    clock=clock,
    scheduler=wb.engine.ManualScheduler(clock),
    rng=random.Random(3),
    topic_configs=topics,
)
manager.startup(with_tasks=False)


def write(name: str, *values: str, rolls: bool = True, **producer: int) -> None:
    """Append values of one key, each in a batch and a segment of its own."""
    log = manager.get_or_create_log(f"{name}-0")
    for value in values:
        log.append_as_leader(
            wb.engine.MemoryRecords.of((clock.now(), b"assam", value.encode()), **producer)
        )
        log.update_high_watermark(log.log_end_offset)
        if rolls:
            log.roll()


write("clean-enough", "3.00", "3.50 " * 40)
manager.cleaner.clean_filthiest()  # a real round; then a little more is written
write("clean-enough", "3.20")
write("active", "3.00", "3.20", "3.50", rolls=False)
write("policy", "3.00", "3.20", "3.50")
write("young", "3.00", "3.20", "3.50")
write("open", "3.00", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
write("open", "3.20", "3.50")

# %% [markdown]
# An open transaction also stops the cleaner: like a `read_committed` consumer, it gets no further
# than the transaction's first record. So a producer that hangs keeps a log dirty. The rules explain
# why each log is not cleaned:

# %%
config = {f"{topic}:{name}": value for topic, own in topics.items() for name, value in own.items()}
small = wb.open_log_directory(home.name)
for name in topics:
    explanation = small[f"{name}-0"].explain_cleaning(config, now=NOW + HOUR)
    print(f"{name}: {explanation.conclusion}\n")
manager.shutdown()

# %% [markdown]
# The records of *young* are not old enough yet. The explanation says when they will be.

# %%
CleanerView(small["young-0"], config, now=NOW + HOUR)

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** Move the slider *hours from now* to the right. When does the cleaner's conclusion change
# from *not cleaned*, with `min.compaction.lag.ms` of a day and a ratio of one half?
#
# <details>
# <summary>Answer</summary>
#
# At **16** hours. Before that, the reason changes: when the first dirty segment is old enough, it
# is **0.41** of what could be cleaned, so `min.cleanable.dirty.ratio` holds the cleaner back; with
# the second it is **0.58**.
#
# ```python
# batches = logs.inspect.batches(partitions=PARTITION).to_pandas()
# closed = batches[batches.segment < batches.segment.max()].groupby("segment")
# latest, size = closed.max_timestamp.max(), closed["size"].sum()
# is_dirty = size.index >= dirtiest.first_dirty_offset
# for after in (9, 15, 16):
#     limit = pd.Timestamp(NOW + (after - 24) * HOUR, unit="ms", tz="UTC")
#     is_old = (latest[is_dirty] <= limit).cummin()  # up to the first that is too young
#     dirty, clean = size[is_dirty][is_old].sum(), size[~is_dirty].sum()
#     print(f"{after} hours: {is_old.sum()} segments, {dirty / (clean + dirty):.2f}")
# ```
#
# ```output
# 9 hours: 0 segments, 0.00
# 15 hours: 1 segments, 0.41
# 16 hours: 2 segments, 0.58
# ```
#
# </details>
#
# **2.** Click the rule `max.compaction.lag.ms` in the first cleaner view. Which method of Kafka
# applies it?
#
# <details>
# <summary>Answer</summary>
#
# **LogCleanerManager.maxCompactionDelay**.
#
# ```python
# rules = {row.rule: row.kafka for row in logs[PARTITION].explain_cleaning(now=NOW)}
# print(rules["max.compaction.lag.ms"])
# ```
#
# ```output
# LogCleanerManager.maxCompactionDelay
# ```
#
# </details>
#
# **3.** What would cleaning `customers-1` save with Kafka's default ratio?
#
# <details>
# <summary>Answer</summary>
#
# **592** of **802** records: its 174,156 bytes become **47,266**. The bytes are those of the whole
# log; of its **815** records, **13** are in the active segment, which is never cleaned.
#
# ```python
# print(logs["customers-1"].plan_cleaning(half, now=NOW).summary)
# batches = logs.inspect.batches(partitions="customers-1").to_pandas()
# segments = batches.groupby("segment")[["size", "record_count"]].sum()
# print(segments["size"].sum(), segments.record_count.sum(), segments.record_count.iloc[-1])
# records = logs.scan(partitions="customers-1", columns=["offset", "key"]).to_pandas()
# closed = records[records.offset < segments.index[-1]]
# print(closed.key.duplicated(keep="last").sum(), "of", len(closed))  # a later record has the key
# ```
#
# ```output
# customers-1: 174,156 bytes become 47,266; 592 of 802 records are dropped
# 174156 815 13
# 592 of 802
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - [Step through a compaction](04_step_through_a_compaction.ipynb) plays a cleaning, and gives the
#   reason why it keeps or drops each record.
# - `logs.inspect.keys()` lists the keys with the most old values, and what compaction would save.
# - `kafka-workbench explain` applies the same rules from the command line.
