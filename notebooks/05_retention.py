# %% [markdown]
# # Retention
#
# A topic whose `cleanup.policy` is `delete` loses its oldest segments, as wholes, when one of
# three rules lets them go: they are too old, the log is too large, or nobody may read them any
# more. When records stay longer than you think, or go earlier, it is one of the turns of these
# rules.
#
# Nothing is deleted here, but in logs of the notebook's own: the rules are asked on a copy in
# memory.

# %%
import os
import random
import shutil
import tempfile

import ipywidgets
import matplotlib.pyplot as plt
import pandas as pd

import workbench as wb
from widgets import Stack, StepPlayer
from workbench.log.clock import ManualClock
from workbench.log.scheduler import ManualScheduler

DATA = "../sample_data/shop-4.3.1"  # or a log directory of yours
HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 1_732_924_800_000  # ms: 30 November 2024, when the sample was made; None for this moment

logs = wb.open_log_directory(DATA)
pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## By time
#
# A segment goes when its *latest* record is older than `retention.ms`, by default a week. So a
# record stays as long as the youngest one in its segment, and in a quiet topic, where a segment
# lives for days before the next begins, that is long. The rules are asked segment by segment; at
# the first that stays they stop.

# %%
explanation = logs["orders-0"].explain_retention(now=NOW)
print(f"{explanation.conclusion}\n")
for row in explanation:
    where = "" if row.segment is None else f" of segment {row.segment}"
    print(f"{row.rule}{where}: {row.verdict}: {row.reason}")

# %% [markdown]
# Each bar is a segment, from its earliest record to its latest. It goes when its *right* end falls
# behind the line; the records on its left are much older by then.

# %%
batches = logs.inspect.batches(topics=["orders"], partitions=[0]).to_pandas()
spans = batches.groupby("segment").agg(
    begin=("base_timestamp", "min"), end=("max_timestamp", "max")
)
axes = plt.figure(figsize=(10, 1.8)).gca()
axes.barh(spans.index.astype(str), spans.end - spans.begin, left=spans.begin, color="#0072B2")
axes.axvline(pd.Timestamp(NOW - 7 * DAY, unit="ms", tz="UTC"), color="#D55E00", lw=2)
axes.axvline(pd.Timestamp(NOW, unit="ms", tz="UTC"), color="#16191d", lw=1)
axes.set_title("orders-0: segments; a week before now, and now", loc="left", size=10)
axes.invert_yaxis()
axes.spines[["top", "right", "left"]].set_visible(False)

# %% [markdown]
# Six days later the first segments are old enough. Move the clock: these are hours from now.


# %%
def verdicts(hours: int) -> pd.DataFrame:
    """Which segments of all partitions of orders would go so many hours from now."""
    columns = ["partition", "segment", "verdict", "why"]
    rows = [
        [name, row.segment, row.verdict, row.reason]
        for name in ("orders-0", "orders-1", "orders-2")
        for row in logs[name].explain_retention(now=NOW + hours * HOUR)
        if row.rule == "retention.ms" and row.verdict in {"deleted", "kept"}
    ]
    return pd.DataFrame(rows, columns=columns).set_index(["partition", "segment"])


verdicts(6 * 24)

# %% [markdown]
# ## What if?
#
# `what_if` asks all rules of all partitions under another configuration: what would go, what would
# stay, and how many bytes that is. A retention of a day, counted when the sample was made:

# %%
wb.what_if(logs, {"orders:retention.ms": DAY}, now=NOW, topics=["orders"])

# %% [markdown]
# ## By size
#
# `retention.bytes` is for each partition. The oldest segments go as long as what is *left* would
# still hold that much. So a log is always a little larger than the limit, by up to a segment, and
# the limit says nothing of indexes.

# %%
for limit in (400_000, 200_000, 100_000):
    outcome = logs["orders-0"].explain_retention({"orders:retention.bytes": limit}, now=NOW)
    print(f"retention.bytes = {limit:,}: {outcome.conclusion}\n")

# %% [markdown]
# ## The turns of the rules
#
# The rest on logs of our own. The clock stands still until it is moved.

# %%
home = tempfile.TemporaryDirectory()
DIRECTORY = os.path.join(home.name, "data")
clock = ManualClock(NOW)
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
    scheduler=ManualScheduler(clock),
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
    """Print what the rules say of a log of ours."""
    found = wb.open_log_directory(DIRECTORY)[f"{name}-0"].explain_retention(CONFIG, now=clock.now())
    print(found.conclusion)


# %% [markdown]
# **The active segment goes, too.** A log where nobody writes any more loses its last records like
# all others: a new, empty segment is begun, and the old one goes. Only the offsets go on.

# %%
ask("quiet")

# %% [markdown]
# **One record from the future holds everything.** A producer with a wrong clock writes a timestamp
# 300 days ahead. Its segment stays until then, and all behind it, for the rule stops at the first
# segment that stays. Since 4.0 brokers refuse what is more than an hour ahead, unless the topic's
# `message.timestamp.after.max.ms` allows it; older ones took it, and their logs have it.

# %%
ask("future")

# %% [markdown]
# **Deleting records** moves the log start offset up. What lies before it cannot be read any more,
# but a segment goes only when all of it lies there.

# %%
opened["deleted"].maybe_increment_log_start_offset(3, "client delete records request")
manager.checkpoint_log_start_offsets()
ask("deleted")

# %% [markdown]
# **Compacted and deleted**: with `compact,delete` both policies hold. Old segments go by time,
# newest value of a key or not.

# %%
ask("both")

# %% [markdown]
# ## See it done
#
# Now the log manager deletes. Files are first renamed to `.deleted`, so that who reads them can go
# on, and removed a minute later. Each verdict stands with its step. Choose a log.

# %%
steps.clear()
before = shutil.copytree(DIRECTORY, os.path.join(home.name, "before"))
for log in opened.values():
    log.delete_old_segments()
clock.advance(60_000)
told = {
    name: [
        step
        for step in steps
        if step.kind.startswith("segment") and f"{os.sep}{name}-0{os.sep}" in step.where
    ]
    for name in topics
}


def show(name: str) -> None:
    """Play what was done to a log."""
    gone = sum(step.kind == "segment files removed" for step in told[name])
    decided = [number for number, step in enumerate(told[name]) if step.numbers.get("rule")]
    about = f"{name}: {gone} gone, by now"
    player.show(told[name], os.path.join(before, f"{name}-0"), about=about, at=decided[-1])


player = StepPlayer(title="Retention")
which = ipywidgets.ToggleButtons(options=list(topics), style={"button_width": "96px"})
which.observe(lambda change: show(change["new"]), names="value")
which.value = "future"
Stack([which, player])

# %%
manager.shutdown()
wb.open_log_directory(DIRECTORY).inspect.segments().to_pandas()[["name", "base_offset", "size"]]

# %% [markdown]
# ## Next
#
# - `kafka-workbench explain` and `what-if` ask the same from the command line; `retention` applies
#   it to a copy of a directory.
# - `02_how_a_log_is_written` shows when segments are rolled: what is not rolled lives longer.
