# %% [markdown]
# # Retention
#
# Why are records kept longer than expected, or deleted earlier?
#
# In a topic whose `cleanup.policy` is `delete`, the broker deletes the oldest segments, each as a
# whole, by three rules: they are too old, the log is too large, or clients can no longer read them.
# If records are kept longer than you expect, or deleted earlier, the details of these rules explain
# why.
#
# The notebook deletes nothing except in logs of its own: it applies the rules to a copy in memory.
# The sample is a tea shop's cluster; `kafka-workbench lab DIRECTORY` takes a directory of yours.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import random
import shutil
import tempfile
import time

import ipywidgets
import matplotlib.pyplot as plt
import pandas as pd

import workbench as wb
from widgets import RetentionView, Stack, StepPlayer, follow_theme

# %% jupyter={"source_hidden": true}
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours
HOUR = 3_600_000
DAY = 24 * HOUR
pd.set_option("display.max_colwidth", None)
follow_theme()  # charts and tables look as the page does

logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)

NOW = int(time.time() * 1000)
if DATA == SAMPLE:
    NOW = 1_732_924_800_000  # ms: 30 November 2024, the end of the sample's week
biggest = max(logs, key=lambda name: (name[:2] != "__", logs[name].size))
PARTITION = "orders-0" if "orders-0" in logs else biggest
TOPIC = logs[PARTITION].topic

# %% [markdown]
# ## By time
#
# A segment is deleted when its *latest* record is older than `retention.ms`, by default one week.
# So a record is kept as long as the youngest record in its segment. In a quiet topic, where a
# segment is in use for days before the next begins, that can be long. The rules apply segment by
# segment and stop at the first segment that is kept.

# %%
RetentionView(logs[PARTITION], now=NOW)

# %% [markdown]
# Click a segment or a rule to see its reason; `explain_retention` gives the same as a table.
#
# Each bar below is a segment, from its earliest record to its latest. The segment is deleted when
# its *right* end is to the left of the line; by then, the records at its left end are much older.

# %% jupyter={"source_hidden": true}
batches = logs.inspect.batches(topics=[TOPIC], partitions=[logs[PARTITION].partition]).to_pandas()
spans = batches.groupby("segment").agg(
    begin=("base_timestamp", "min"), end=("max_timestamp", "max")
)
spans = spans.dropna()  # without timestamps, a segment is as old as its file
if len(spans):
    axes = plt.figure(figsize=(10, 1.8)).gca()
    axes.barh(spans.index.astype(str), spans.end - spans.begin, left=spans.begin, color="#0072B2")
    axes.axvline(pd.Timestamp(NOW - 7 * DAY, unit="ms", tz="UTC"), color="#D55E00", lw=2)
    axes.axvline(pd.Timestamp(NOW, unit="ms", tz="UTC"), color="#16191d", lw=1)
    axes.set_title(f"{PARTITION}: segments; a week before now, and now", loc="left", size=10)
    axes.invert_yaxis()
    axes.spines[["top", "right", "left"]].set_visible(False)
else:
    print(f"The records of {PARTITION} have no timestamps.")

# %% [markdown]
# Four days later, the first segment of the sample is old enough; five days later, one of each
# partition is. Move the clock: drag the slider, or click it and press the arrow keys. The rules
# judge no segment after the first that is kept.

# %%
view = RetentionView(logs[PARTITION], now=NOW)
later = ipywidgets.IntSlider(
    0, 0, 14, description="days later", style={"description_width": "initial"},
    layout={"width": "480px"}, continuous_update=False,
)  # fmt: skip
later.observe(lambda change: view.show(now=NOW + change["new"] * DAY), names="value")
later.value = 6
Stack([later, view])

# %% [markdown]
# ## What if?
#
# `what_if` applies all rules to all partitions under another configuration: what would be deleted,
# what would be kept, and how many bytes that is. Here is a retention of one day:

# %%
wb.what_if(logs, {f"{TOPIC}:retention.ms": DAY}, now=NOW, topics=[TOPIC])

# %% [markdown]
# ## By size
#
# `retention.bytes` applies to each partition. The broker deletes the oldest segments as long as the
# *remaining* ones still have at least that many bytes. So a log is usually a little larger than the
# limit, by up to one segment. The limit does not count the indexes.

# %%
for share in (0.97, 0.5, 0.25):
    limit = int(logs[PARTITION].size * share)
    outcome = logs[PARTITION].explain_retention({f"{TOPIC}:retention.bytes": limit}, now=NOW)
    print(f"retention.bytes = {limit:,}: {outcome.conclusion}\n")

# %% [markdown]
# ## The details of the rules
#
# The rest uses logs of our own. The clock moves only when we move it.

# %% jupyter={"source_hidden": true}
home = tempfile.TemporaryDirectory()
DIRECTORY = os.path.join(home.name, "data")
clock = wb.engine.ManualClock(NOW)
steps = []
topics = {
    "quiet": {"retention.ms": DAY},
    "future": {"retention.ms": DAY, "message.timestamp.after.max.ms": 365 * DAY},
    "deleted": {"retention.ms": -1},
    "both": {"retention.ms": DAY, "cleanup.policy": "compact,delete"},
}
CONFIG = {f"{topic}:{name}": value for topic, own in topics.items() for name, value in own.items()}
manager = wb.LogManager(
    [DIRECTORY],
    clock=clock,
    scheduler=wb.engine.ManualScheduler(clock),
    rng=random.Random(5),
    observer=steps.append,
    topic_configs=topics,
)
manager.startup(with_tasks=False)
opened = {name: manager.get_or_create_log(f"{name}-0") for name in topics}


def fill(name: str, ages: list[int]) -> None:
    """Write a segment for each age in hours: two records, the last of that age."""
    log = opened[name]
    for number, age in enumerate(ages):
        if number:
            log.roll()
        moment = clock.now() - age * HOUR
        log.append([(moment - HOUR, b"tea", b"Assam"), (moment, b"tea", b"Sencha")])
    log.update_high_watermark(log.log_end_offset)


fill("quiet", [72, 48, 30])
fill("future", [72, -24 * 300, 48, 30])
fill("deleted", [72, 48, 30])
fill("both", [72, 48, 30])


def ask(name: str) -> None:
    """Print the rules' conclusion for one of our logs."""
    found = wb.open_log_directory(DIRECTORY)[f"{name}-0"].explain_retention(CONFIG, now=clock.now())
    print(found.conclusion)


# %% [markdown]
# **The active segment is deleted, too.** A log without new records loses its last records like
# all others: the broker begins a new, empty segment and deletes the old one. The offsets continue.

# %%
ask("quiet")

# %% [markdown]
# **One record from the future holds back everything.** A producer with a wrong clock writes a
# timestamp months ahead. Its segment is kept until then, and so are all segments after it, because
# the rule stops at the first segment that is kept. Since 4.0, brokers reject records more than an
# hour ahead, unless the topic's `message.timestamp.after.max.ms` allows them. Older brokers
# accepted such records, and their logs still have them.

# %%
ask("future")

# %% [markdown]
# **Deleting records** moves the log start offset up. Clients can no longer read records before it,
# but a segment is deleted only when all of its records are before it.

# %%
opened["deleted"].maybe_increment_log_start_offset(3, "client delete records request")
manager.checkpoint_log_start_offsets()
ask("deleted")

# %% [markdown]
# **Compacted and deleted**: with `compact,delete` both policies apply. Old segments are deleted by
# time, even if they hold the newest value of a key.

# %%
ask("both")

# %% [markdown]
# ## See it done
#
# Now the log manager deletes. It first renames files to `.deleted`, so that current readers can
# finish, and removes them a minute later. Each step gives its verdict. Choose a log.

# %% jupyter={"source_hidden": true}
reader = opened["quiet"].read(0)  # a consumer's fetch: a slice of the file, not yet sent
steps.clear()
before = shutil.copytree(DIRECTORY, os.path.join(home.name, "before"))
for log in opened.values():
    log.delete_old_segments()
sent_meanwhile = len(reader.records.batches())
clock.advance(60_000)
played = {
    name: [
        step
        for step in steps
        if step.kind.startswith("segment") and f"{os.sep}{name}-0{os.sep}" in step.where
    ]
    for name in topics
}


def show(name: str) -> None:
    """Play the steps of one log."""
    gone = sum(step.kind == "segment files removed" for step in played[name])
    decided = [number for number, step in enumerate(played[name]) if step.numbers.get("rule")]
    about = f"{name}: {gone} deleted so far"
    player.show(played[name], os.path.join(before, f"{name}-0"), about=about, at=decided[-1])


player = StepPlayer(title="Retention")
which = ipywidgets.ToggleButtons(options=list(topics), style={"button_width": "96px"})
which.observe(lambda change: show(change["new"]), names="value")
which.value = "future"
Stack([which, player])

# %% [markdown]
# **A reader beside the deletion.** A consumer of *quiet* had asked for offset 0 just before. Its
# answer is still sent from the renamed file; its next fetch gets an error, because the log now
# starts later, and the consumer does what `auto.offset.reset` says.

# %%
print(f"sent from the deleted segment: {sent_meanwhile} batch")
try:
    opened["quiet"].read(0)
except wb.OffsetOutOfRangeError as error:
    print(error)

# %%
manager.shutdown()
wb.open_log_directory(DIRECTORY).inspect.segments().to_pandas()[["name", "base_offset", "size"]]

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** Move the slider *days later*. After how many days is nothing of `orders-0` left, and how
# many of its segments are left a day before?
#
# <details>
# <summary>Answer</summary>
#
# After **7** days. On the sixth, the partitions still have **3**, **2** and **3** of their four
# segments. The code asks no rule: it compares the latest record of each segment with the limit.
#
# ```python
# batches = logs.inspect.batches("orders").to_pandas()
# latest = batches.groupby(["partition", "segment"]).max_timestamp.max()
# for days in range(3, 8):
#     limit = pd.Timestamp(NOW + (days - 7) * DAY, unit="ms", tz="UTC")
#     gone = (latest < limit).groupby("partition").cummin()  # up to the first that is kept
#     left = (~gone).groupby("partition").sum().tolist()
#     print(f"{days} days: {gone.sum()} of {len(gone)} segments deleted, left {left}")
# ```
#
# ```output
# 3 days: 0 of 12 segments deleted, left [4, 4, 4]
# 4 days: 1 of 12 segments deleted, left [4, 3, 4]
# 5 days: 3 of 12 segments deleted, left [3, 3, 3]
# 6 days: 4 of 12 segments deleted, left [3, 2, 3]
# 7 days: 12 of 12 segments deleted, left [0, 0, 0]
# ```
#
# </details>
#
# **2.** Choose *deleted* above the last player. The log start offset is 3. Why is the segment that
# begins at offset 2 kept?
#
# <details>
# <summary>Answer</summary>
#
# It holds offset 3, too: the next segment begins at **4**, above the log start offset 3.
#
# ```python
# kept = [step for step in played["deleted"] if step.kind == "segment kept"]
# print(kept[0].reason)
# ```
#
# ```output
# the next segment begins at 4, above the log start offset 3
# ```
#
# </details>
#
# **3.** How small must `retention.bytes` be for the first segment of `orders-0` to go? Try
# `explain_retention` with other limits.
#
# <details>
# <summary>Answer</summary>
#
# At most the size of the other segments: **289036** bytes. One byte more, and it is kept.
#
# ```python
# rest = sum(segment.size for segment in logs[PARTITION].segments[1:])
# for limit in (rest, rest + 1):
#     outcome = logs[PARTITION].explain_retention({f"{TOPIC}:retention.bytes": limit}, now=NOW)
#     print(limit, outcome.conclusion.split(",")[0])
# ```
#
# ```output
# 289036 retention deletes 1 of 4 segments
# 289037 retention deletes 0 of 4 segments
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `kafka-workbench explain` and `what-if` apply the same rules from the command line; `retention`
#   deletes segments from a copy of a directory.
# - [How a log is written](02_how_a_log_is_written.ipynb) shows when a log rolls: until it does, its
#   records are kept longer.
