# %% [markdown]
# # Why was it not compacted?
#
# A topic is compacted, and its log holds old values all the same. The cleaner has its reasons,
# about a dozen, and a broker tells none of them. Here each is asked, with the figures it was
# decided by.
#
# The sample is a tea shop's cluster, written by a real broker. Nothing is changed: the log is
# loaded as a starting broker loads it, with every change kept in memory.

# %%
import random
import tempfile

import ipywidgets
import pandas as pd
import traitlets

import workbench as wb
from widgets import CleanerView, LogExplorer, Stack
from workbench.log.clock import ManualClock
from workbench.log.scheduler import ManualScheduler
from workbench.record.memory_records import MemoryRecords

DATA = "../sample_data/shop-4.3.1"  # or a log directory of yours
PARTITION = "customers-0"
HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 1_732_924_800_000  # ms: 30 November 2024, when the sample was made; None for this moment

logs = wb.open_log_directory(DATA)
pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## All logs at a glance
#
# One row a partition: is it compacted, up to where is it clean, how much of it is dirty, and is it
# due? Which topics are compacted stands in `__cluster_metadata`, if that lies in the directory.

# %%
cleaning = logs.inspect.cleaning(now=NOW).to_pandas()
columns = ["topic", "partition", "first_dirty_offset", "bound", "ratio", "threshold", "is_due"]
cleaning[cleaning.is_compacted][columns].convert_dtypes().set_index(["topic", "partition"])

# %% [markdown]
# ## One partition
#
# Three quarters of `customers-0` are dirty, and it is not due. Its segments, from left to right:
# the *clean* ones, where the last round has been; the *dirty* ones behind the checkpoint; the
# *active* one, which is never cleaned. Below stand the rules in the order in which the cleaner
# asks them. Click one to see where Kafka has it.

# %%
view = CleanerView(logs[PARTITION], now=NOW)
view

# %% [markdown]
# So that is why: `min.cleanable.dirty.ratio` of this topic is 1, and a share is never *more* than
# 1. Some set it to 1 in order to clean rarely; they clean never, unless `max.compaction.lag.ms` is
# set.
#
# The view follows the explorer, and the explorer the view. Click a segment in either.

# %%
explorer = LogExplorer(logs, selected={"partition": PARTITION, "segment": 909})
traitlets.link((explorer, "selected"), (view, "selected"))
explorer

# %% [markdown]
# ## What if?
#
# The rules can be asked under another configuration. With Kafka's default, one half, the log would
# be cleaned at once. `plan_cleaning` says what that would save.

# %%
half = {"customers:min.cleanable.dirty.ratio": 0.5}
print(logs[PARTITION].explain_cleaning(half, now=NOW).conclusion)
logs[PARTITION].plan_cleaning(half, now=NOW)

# %% [markdown]
# ## What if we wait?
#
# Time alone changes two rules. `min.compaction.lag.ms` lets records be cleaned only when they are
# so old; `max.compaction.lag.ms` makes a log due when its first dirty record is so old, however
# clean the log is. Move the clock: with a lag of a day, one segment after the other is released.

# %%
lag = half | {"customers:min.compaction.lag.ms": DAY}
waiting = CleanerView(logs[PARTITION], lag, now=NOW)
hours = ipywidgets.IntSlider(
    0, -30, 48, description="hours from now", style={"description_width": "initial"},
    layout={"width": "480px"}, continuous_update=False,
)  # fmt: skip
hours.observe(lambda change: waiting.show(lag, now=NOW + change["new"] * HOUR), names="value")
hours.value = -12
Stack([hours, waiting])

# %% [markdown]
# ## The usual reasons
#
# Five small logs, each with three values of one key, and each not cleaned for another reason.

# %%
home = tempfile.TemporaryDirectory()
clock = ManualClock(NOW)
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
    scheduler=ManualScheduler(clock),
    rng=random.Random(3),
    topic_configs=topics,
)
manager.startup(with_tasks=False)


def write(name: str, *values: str, rolls: bool = True, **producer: int) -> None:
    """Append values of one key, each in a batch and a segment of its own."""
    log = manager.get_or_create_log(f"{name}-0")
    for value in values:
        log.append_as_leader(MemoryRecords.of((clock.now(), b"assam", value.encode()), **producer))
        log.update_high_watermark(log.log_end_offset)
        if rolls:
            log.roll()


write("clean-enough", "3.00", "3.50 " * 40)
manager.cleaner.clean_filthiest()  # a round, for real; then comes a little more
write("clean-enough", "3.20")
write("active", "3.00", "3.20", "3.50", rolls=False)
write("policy", "3.00", "3.20", "3.50")
write("young", "3.00", "3.20", "3.50")
write("open", "3.00", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
write("open", "3.20", "3.50")

# %% [markdown]
# An open transaction bounds the cleaner, too: at its first record the log ends for everybody who
# reads committed records, and what lies behind it has no fate yet. A producer that hangs keeps a
# log dirty. Why each log is not cleaned, in the words of the rules:

# %%
config = {f"{topic}:{name}": value for topic, own in topics.items() for name, value in own.items()}
small = wb.open_log_directory(home.name)
for name in topics:
    explanation = small[f"{name}-0"].explain_cleaning(config, now=NOW + HOUR)
    print(f"{name}: {explanation.conclusion}\n")
manager.shutdown()

# %% [markdown]
# The log that is called *young* waits for its time. The explanation says until when.

# %%
CleanerView(small["young-0"], config, now=NOW + HOUR)

# %% [markdown]
# ## Next
#
# - `04_step_through_a_compaction` plays a cleaning: of each record, why it is kept or dropped.
# - `logs.inspect.keys()` lists the keys with the most old values, and what compaction would save.
# - `kafka-workbench explain` asks the same rules from the command line.
