# %% [markdown]
# # Is my data damaged?
#
# A disk failed, a machine lost power, or somebody copied files while a broker ran. Which records
# can still be read, and what would a broker do with the rest when it starts: keep it, truncate it,
# or refuse to start? This notebook checks a directory, damages copies of a partition in six ways,
# predicts what a broker would do, lets the engine do it, and compares.
#
# The sample is a tea shop's cluster, written by a real broker; `kafka-workbench lab DIRECTORY`
# takes a directory of yours. Your files do not change: only copies are damaged.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable

import pandas as pd

import workbench as wb
from widgets import CheckpointTable, LogExplorer, RecoveryPlayer, follow_theme

follow_theme()  # charts and tables look as the page does

# %% jupyter={"source_hidden": true}
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours
MOST_COPIED = 64 << 20  # bytes: a partition that is copied is not larger
pd.set_option("display.max_colwidth", None)

logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)

# %% [markdown]
# ## Check it
#
# `verify` reads every byte: each batch's CRC, each record's fields, each index entry, each snapshot
# and checkpoint. A finding says what is there, what should be, and what a broker would do about it.

# %%
findings = logs.verify()
print(f"{len(findings)} findings in {len(logs)} partitions")
for finding in findings[:5]:
    print(f"\n{finding.kind}: {finding.found}\n{finding.broker}")

# %% [markdown]
# ## What the checkpoints say
#
# Besides its logs, a broker writes small files about them: up to where they were flushed, committed
# and cleaned, who led when, and whose directory this is. If they contradict the logs, a start may
# lose data that is undamaged. Here are all of them beside the logs; select a row to see its files.

# %%
CheckpointTable(logs)

# %% [markdown]
# Another sample has damaged logs, each damaged in its own way; `healthy-0` and Kafka's own topics
# are not. Contradictions come first, each with what a broker would do.

# %%
damaged = wb.open_log_directory("../sample_data/damaged")
CheckpointTable(damaged, selected={"partition": "checkpoints-ahead-0"})

# %% [markdown]
# ## Damage it yourself
#
# First, a copy of one partition, with the checkpoints of its directory. Like this, its broker was
# killed: there is no file that shows a clean shutdown, so the next start recovers the log.


# %% jupyter={"source_hidden": true}
def records_of(name: str) -> int:
    """Return how many records the segments of a partition hold, by their headers."""
    counts = (segment.batches.column("record_count") for segment in logs[name].segments)
    return sum(int(each[each > 0].sum()) + int((each < 0).sum()) for each in counts)


fitting = [name for name in logs if 0 < logs[name].size <= MOST_COPIED and logs[name].kind == "log"]
owned = [name for name in fitting if not logs[name].topic.startswith("__")]
PARTITION = "orders-0" if "orders-0" in owned else max(owned or fitting, key=records_of)
source = logs[PARTITION]
home = tempfile.TemporaryDirectory()
CHECKPOINTS = [
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
]


def fresh_copy(name: str) -> str:
    """Return a new log directory with a copy of the partition, as a killed broker leaves it."""
    target = os.path.join(home.name, name)
    shutil.rmtree(target, ignore_errors=True)
    wb.engine.copy_log_directory(source.path, target, source.fs)
    with open(os.path.join(target, "recovery-point-offset-checkpoint"), "w") as file:
        file.write("0\n0\n")  # no log was flushed
    meta = os.path.join(os.path.dirname(source.path), "meta.properties")
    if os.path.exists(meta):
        shutil.copy(meta, target)
    return target


before = wb.open_log_directory(fresh_copy("before"))
print(f"{PARTITION}: {records_of(PARTITION):,} records, {len(source.segments)} segments")
print(len(before.verify()), "findings in the copy")

# %% [markdown]
# Now the damages. Each is a function of the copy's path, in the folded cell; add one of your own.


# %% jupyter={"source_hidden": true}
def log_file(path: str, number: int) -> str:
    """Return the path of a segment's `.log` file in a copy; -1 is the last that has records."""
    held = [each for each in source.segments if each.size]
    return os.path.join(path, source.name, os.path.basename(held[number].path))


def flip_a_bit(path: str) -> None:
    """Flip one bit in the middle of the first segment."""
    with open(log_file(path, 0), "r+b") as file:
        file.seek(source.segments[0].size // 2)
        (byte,) = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def tear_the_end(path: str) -> None:
    """Truncate the last batch, as a power loss does."""
    os.truncate(log_file(path, -1), os.path.getsize(log_file(path, -1)) - 20)


def zero_the_end(path: str) -> None:
    """Replace the last bytes with zeros, as a file system does that had not written them yet."""
    size = os.path.getsize(log_file(path, -1))
    os.truncate(log_file(path, -1), max(0, size - 200))
    os.truncate(log_file(path, -1), size)


def lose_an_index(path: str) -> None:
    """Delete the offset index of the first segment."""
    os.remove(log_file(path, 0).removesuffix(".log") + ".index")


def lose_a_segment(path: str) -> None:
    """Delete the first segment's records."""
    os.remove(log_file(path, 0))


def flip_after_a_clean_stop(path: str) -> None:
    """Flip the same bit in a directory that says that its broker was stopped cleanly."""
    flip_a_bit(path)
    with open(os.path.join(path, ".kafka_cleanshutdown"), "w") as file:
        file.write('{"version":0,"brokerEpoch":-1}')


DAMAGES: list[Callable[[str], None]] = [
    flip_a_bit,
    tear_the_end,
    zero_the_end,
    lose_an_index,
    lose_a_segment,
    flip_after_a_clean_stop,
]
copies = {}
for damage in DAMAGES:
    copies[damage.__name__] = fresh_copy(damage.__name__)
    damage(copies[damage.__name__])

found = [
    [name, finding.kind, finding.severity, finding.found, finding.broker]
    for name, path in copies.items()
    for finding in wb.open_log_directory(path).verify()[:2]
]
columns = ["damage", "finding", "severity", "found", "what a broker would do"]
pd.DataFrame(found, columns=columns).set_index(["damage", "finding"])

# %% [markdown]
# The explorer shows where it is: damaged batches have color, stripes and a cross.

# %%
flipped = wb.open_log_directory(copies["flip_a_bit"])
explorer = LogExplorer(flipped)
for finding in flipped.verify()[:1]:
    explorer.show(finding)
explorer

# %% [markdown]
# ## What would a broker do?
#
# `predict_startup` runs the loading code of a broker on the directory, with every change kept in
# memory, and then reads the log as a consumer does. Damage that a broker does not detect shows as
# *unnoticed*.


# %%
def predicted(path: str) -> list[object]:
    """Return what a broker would do with the copy's partition."""
    (row,) = wb.open_log_directory(path).predict_startup().partitions
    read = row.consumers[0].records if row.consumers else 0
    return [row.verdict, row.log_start_offset, row.log_end_offset, row.bytes_cut, read,
            "; ".join(row.unnoticed[:1])]  # fmt: skip


columns = ["verdict", "log start", "log end", "bytes truncated", "records read", "unnoticed"]
rows = {"no damage": predicted(os.path.join(home.name, "before"))}
rows |= {name: predicted(path) for name, path in copies.items()}
pd.DataFrame.from_dict(rows, orient="index", columns=columns).convert_dtypes()

# %% [markdown]
# The last row is the worst to find. The same bit is flipped, but the directory says that its broker
# was stopped cleanly, so a broker does not check the log at all. It starts, and consumers stop at
# the damage: that is what *unnoticed* says.
#
# One flipped bit in the *first* segment costs everything after it: recovery truncates the log at
# the first damaged batch and deletes all later segments. This is right for a replica, which fetches
# the rest from its leader, and a disaster if it is the only one left. So before such a broker
# starts, the records after the damage should be saved: `logs.scan()` reads around it.

# %%
warnings.simplefilter("ignore", wb.CorruptDataWarning)  # it names the batch, which we know
saved = flipped.scan().to_pandas()
first = predicted(copies["flip_a_bit"])
print(f"a broker keeps {first[4]:,} records; a scan reads {len(saved):,}")

# %% [markdown]
# ## Recover a copy
#
# `wb.recover` does what was predicted, here to copies of the copies. The player shows each
# batch that recovery validated, and the one at which the log ends from now on. Step back with the
# arrow keys.

# %%
player = RecoveryPlayer(flipped[PARTITION])
kinds = [step.kind for step in player.steps]
player.at = kinds.index("invalid batch found") if "invalid batch found" in kinds else 0
player

# %%
recovered = {}
for name, path in copies.items():
    shutil.rmtree(f"{path}-recovered", ignore_errors=True)
    shutil.copytree(path, f"{path}-recovered")
    (row,) = wb.recover(f"{path}-recovered", in_place=True).partitions
    recovered[name] = row
    print(f"{name}: {row.verdict}, log end offset {row.log_end_offset:,}")
    for change in row.changes[:2]:
        print(f"  {change}")

# %% [markdown]
# ## Compare
#
# What the recovery did is what was predicted. And what is missing now?

# %%
whole = set(before.scan().to_pandas().offset)
columns = ["as predicted", "records before", "records now", "lost", "first lost offset", "findings"]
rows = {}
for name, path in copies.items():
    after = wb.open_log_directory(f"{path}-recovered")
    left = set(after.scan().to_pandas().offset)
    lost = sorted(whole - left)
    rows[name] = [
        recovered[name].log_end_offset == predicted(path)[2],
        len(whole),
        len(left),
        len(lost),
        lost[0] if lost else None,
        len(after.verify()),
    ]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).convert_dtypes()

# %% [markdown]
# A copy without findings is not always a copy without losses: the segment that was deleted is
# missing, and what is left agrees with itself. Only another replica, or the checkpoints, can show
# that.

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** Which of the six damages cost the most records, and which cost none?
#
# <details>
# <summary>Answer</summary>
#
# The flipped bit: **1365** records, as everything after it goes. A lost index costs nothing: it is
# rebuilt. After a clean stop, the same bit costs a scan **1** record, and a consumer, which stops
# there, all that follow.
#
# ```python
# for name, row in rows.items():
#     print(f"{name}: {row[3]} lost")
# ```
#
# ```output
# flip_a_bit: 1365 lost
# tear_the_end: 4 lost
# zero_the_end: 4 lost
# lose_an_index: 0 lost
# lose_a_segment: 442 lost
# flip_after_a_clean_stop: 1 lost
# ```
#
# </details>
#
# **2.** Damage a copy in a seventh way: set every byte of the first time index to `0xFF`. Does
# `verify` notice? Does a broker lose records?
#
# <details>
# <summary>Answer</summary>
#
# `verify` finds entries in the wrong **order**. The broker **recovers** the log, because nothing
# says that it was stopped cleanly: it rebuilds the index and loses nothing of the **1588** records.
#
# ```python
# seventh = fresh_copy("seventh")
# index = log_file(seventh, 0).removesuffix(".log") + ".timeindex"
# with open(index, "r+b") as file:
#     file.write(b"\xff" * os.path.getsize(index))
# print(sorted({finding.kind for finding in wb.open_log_directory(seventh).verify()}))
# print(predicted(seventh)[:3])
# ```
#
# ```output
# ['time-index-entry', 'time-index-order']
# ['recovers', 0, 1588]
# ```
#
# </details>
#
# **3.** In the second checkpoint table, select `checkpoints-ahead-0`. How far is its recovery point
# past the end of the log?
#
# <details>
# <summary>Answer</summary>
#
# It says **100000**, and the log ends at **72**. A broker then takes the log end offset, and has
# lost what was flushed once.
#
# ```python
# said = damaged.inspect.checkpoints().to_pandas().set_index("topic").loc["checkpoints-ahead"]
# print(set(said.offset), damaged["checkpoints-ahead-0"].log_end_offset)
# ```
#
# ```output
# {100000} 72
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `kafka-workbench verify`, `predict` and `recover --to OUT` do the same from the command line.
# - `wb.compare_replicas(...)` compares the disks of several brokers: does another replica still
#   have what is lost?
# - [Replication and the high watermark](09_replication_and_the_high_watermark.ipynb) plays how
#   replicas lose and truncate records.
