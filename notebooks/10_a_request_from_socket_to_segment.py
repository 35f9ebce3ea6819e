# %% [markdown]
# # A request from socket to segment
#
# What happens between a consumer's `poll()` and the file on the broker's disk?
#
# A consumer calls `poll()`, and records come back. In between are two frames on a socket, a
# handler, a search in an index, and a slice of a file. This notebook shows all of them: the
# workbench serves a log directory to real clients, keeps each request, names every byte of it, and
# plays what the log did for it.
#
# The server is read-only: nothing on the disk is changed or locked. The sample is a tea shop's
# cluster; `kafka-workbench lab DIRECTORY` takes a directory of yours.
#
# *Run → Run All Cells* in the menu makes the widgets live; until then, they are pictures.

# %% jupyter={"source_hidden": true}
import os
import socket
import struct
import time

import pandas as pd

import workbench as wb
from widgets import RequestPlayer, RequestView, Stack, follow_theme

follow_theme()  # charts and tables look as the page does

# %% jupyter={"source_hidden": true}
SAMPLE = "../sample_data/shop-4.3.1"
DATA = os.environ.get("KAFKA_WORKBENCH_DATA", SAMPLE)  # or the path of a log directory of yours

logs = wb.open_log_directory(DATA)
if not logs:
    print(f"{DATA} has no partitions. This is the sample.")
    logs = wb.open_log_directory(DATA := SAMPLE)

biggest = max(logs, key=lambda name: (name[:2] != "__", logs[name].size))
PARTITION = "orders-0" if "orders-0" in logs else biggest
TOPIC, NUMBER = logs[PARTITION].topic, logs[PARTITION].partition

server = wb.serve(logs)
server.start()
watch = server.watch()  # from now on, the server keeps its last 1,000 requests


# %% jupyter={"source_hidden": true}
def play(api: str, kind: str) -> RequestPlayer:
    """Return a player of the newest request of an API, at the first step of a kind."""
    time.sleep(0.1)  # the server notes a request when its response is sent
    player = RequestPlayer(next(each for each in reversed(watch) if each.done.api == api))
    kinds = [step.kind for step in player.steps]
    player.at = kinds.index(kind) if kind in kinds else 0
    return player


# %% [markdown]
# ## A request by hand
#
# A request is a *frame*: four bytes with the size of what follows, a header, and a body. The header
# has the kind of the request as a number, the *api key*, its version, a correlation id, which the
# response repeats, and the name of the client. The version decides which fields the body has, and
# how they are encoded.
#
# Two dozen lines make a client. It asks for the log end offset: in `ListOffsets`, the timestamp -1
# stands for *latest*.


# %%
def ask(api_key: int, version: int, body: bytes) -> bytes:
    """Send one request and return the body of its response."""
    client_id = b"by hand"
    header = struct.pack(">hhih", api_key, version, 1, len(client_id)) + client_id
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(struct.pack(">i", len(header + body)) + header + body)
        file = client.makefile("rb")
        (size,) = struct.unpack(">i", file.read(4))
        (correlation_id,) = struct.unpack(">i", file.read(4))
        assert correlation_id == 1
        return file.read(size - 4)


def named(text: str) -> bytes:
    """Return a text as the protocol has it: a length of two bytes, then UTF-8."""
    return struct.pack(">h", len(text.encode())) + text.encode()


LIST_OFFSETS, FETCH = 2, 1
LATEST = -1
one_partition = struct.pack(">i", 1) + named(TOPIC) + struct.pack(">ii", 1, NUMBER)
answer = ask(LIST_OFFSETS, 1, struct.pack(">i", -1) + one_partition + struct.pack(">q", LATEST))
(end,) = struct.unpack(">q", answer[-8:])
print(f"{PARTITION} ends at offset {end:,}")

# %% [markdown]
# The player shows both frames with a name for each byte. Step with the arrow keys: the bytes that a
# step is about keep their color. A click on a field marks its bytes.

# %%
play("ListOffsets", "partition asked")

# %% [markdown]
# ## From the offset to the bytes
#
# A `Fetch` names partitions, an offset in each, and how many bytes may come back. The handler finds
# the records in four steps, which in Kafka's code lie between `KafkaApis` and `FileRecords.slice`:
#
# 1. **The segment.** The last segment whose base offset is not above the wanted offset: the *floor*
#    of a sorted map.
# 2. **The index.** A binary search in its offset index. Entries are stored as four bytes
#    *relative to the base offset*, and four bytes of position. The index is sparse, so the search
#    gives the last entry at or before the offset.
# 3. **The scan.** From there, the headers of the batches are read, one after the other, up to the
#    first batch that reaches the offset.
# 4. **The slice.** Bytes from there on: a range of the file, not decoded, not copied into records.
#    It ends at `maxBytes`, even within a batch.
#
# We ask for the offset in the middle, and for a few KiB at most.

# %%
READ_UNCOMMITTED = 0
start = logs[PARTITION].log_start_offset


def fetch(offset: int, most: int, max_wait_ms: int = 0) -> bytes:
    """Fetch at most some bytes of the partition, from an offset on."""
    limits = struct.pack(">iiiib", -1, max_wait_ms, 1, 1 << 20, READ_UNCOMMITTED)
    no_session = struct.pack(">ii", 0, -1)
    partition = struct.pack(">iqqi", -1, offset, -1, most)
    nothing_forgotten = struct.pack(">i", 0)
    return ask(FETCH, 10, limits + no_session + one_partition + partition + nothing_forgotten)


answer = fetch((start + end) // 2, 4096)
print(f"a response of {len(answer):,} bytes")
play("Fetch", "batch found")

# %% [markdown]
# The steps in the log are not a drawing of what a broker might do: they are reported by the
# workbench's own storage engine, which did the same read again on a dry copy. The bytes of records
# are hidden here; `show_values=True` shows them.
#
# ## minOneMessage
#
# What if the next batch is larger than `maxBytes`? A consumer that got a part of a batch could
# never continue. So the first batch of the first partition that has any is returned whole, however
# large it is. In the code of Kafka, this is `minOneMessage`. We ask for a single byte:

# %%
answer = fetch((start + end) // 2, 1)
print(f"a response of {len(answer):,} bytes")
play("Fetch", "records sliced")

# %% [markdown]
# ## A real client
#
# Now a consumer of confluent-kafka, with a group. It needs nothing but the address and a group: it
# learns the rest by requests. If your environment has no confluent-kafka, `pip install
# confluent-kafka` gets it.

# %%
try:
    from confluent_kafka import Consumer
except ImportError:
    Consumer = None
    print("There is no confluent-kafka here: only the requests by hand follow.")

if Consumer is not None:
    consumer = Consumer(
        {
            "bootstrap.servers": server.bootstrap_servers,
            "group.id": "tour",
            "client.id": "tour-1",
            "auto.offset.reset": "earliest",
            "max.partition.fetch.bytes": 16_384,
        }
    )
    consumer.subscribe([TOPIC])
    messages = consumer.consume(100, timeout=10)
    print(f"{len(messages):,} records")

# %% [markdown]
# A few records took a conversation: which versions do you know, which brokers and topics are
# there, who is the coordinator of my group, may I join, which partitions are mine, where did the
# group stop, where does the log begin, and only then: give me records. The newest request is the
# first row of the table; the conversation is at its end.
#
# The table grows while clients work, and can be filtered by kind and client. Select a request, and
# the player below shows it.

# %%
view = RequestView(server)
fetches = [each for each in watch if each.done.api == "Fetch"]
view.selected = max(fetches, key=lambda each: each.done.response_bytes).number
Stack([view, view.player])

# %% [markdown]
# ## Where the time goes
#
# Brokers publish the same numbers as metrics of each kind of request: the time in the *queue*,
# until a thread takes the request; *local*, in which it is handled; *remote*, in which it waits for
# others, such as a fetch for new records or a member for the rest of its group; and the time until
# the response is *sent*. These are mean times in ms. The first request of a kind is slow here
# because it reads files for the first time, or loads compiled code.

# %%
if Consumer is not None:
    consumer.close()
fetch(end, 1, max_wait_ms=300)  # there is nothing at the end, so the server waits for records
time.sleep(0.1)

NAMES = {
    "request_queue_time_ms": "queue",
    "local_time_ms": "local",
    "remote_time_ms": "remote",
    "response_send_time_ms": "send",
}
times = pd.DataFrame(
    [
        {"request": each.done.api}
        | {short: getattr(each.done, name) for name, short in NAMES.items()}
        for each in watch
        if each.done.api is not None
    ]
)
mean = times.groupby("request", sort=False).mean()
mean.insert(0, "count", times.groupby("request", sort=False).size())
mean.round(2)

# %% [markdown]
# ## A lookup by time
#
# `ListOffsets` with a real timestamp goes through the other index first. The *time index* gives an
# offset up to which no record is later than the time; the search continues from there as in a
# fetch. We look for the largest timestamp of the partition.

# %%
largest = [segment.largest_timestamp for segment in logs[PARTITION].segments]
wanted = max((stamp for stamp in largest if stamp is not None), default=0)
answer = ask(LIST_OFFSETS, 1, struct.pack(">i", -1) + one_partition + struct.pack(">q", wanted))
(found,) = struct.unpack(">q", answer[-8:])
moment = pd.Timestamp(wanted, unit="ms", tz="UTC").isoformat(timespec="milliseconds")
print(f"the first record at or after {moment} has offset {found:,}")
play("ListOffsets", "index entry found")

# %% [markdown]
# ## Try it
#
# The numbers are those of the sample. A click opens an answer. To run its code, copy it into the
# cell below and press Shift+Enter.
#
# **1.** Ask by hand for partition 99, which is not there: `ListOffsets` again, with another number.
# Which error code comes back?
#
# <details>
# <summary>Answer</summary>
#
# **3**: `UNKNOWN_TOPIC_OR_PARTITION`.
#
# ```python
# nowhere = struct.pack(">i", 1) + named(TOPIC) + struct.pack(">ii", 1, 99)
# answer = ask(LIST_OFFSETS, 1, struct.pack(">i", -1) + nowhere + struct.pack(">q", LATEST))
# print(struct.unpack(">h", answer[-18:-16])[0])
# ```
#
# ```output
# 3
# ```
#
# </details>
#
# **2.** How many bytes come back from the middle of the partition if you ask for 1, and how many if
# you ask for 4096? Why are the second ones fewer than 4096? Compare the two players of `Fetch`:
# where do their slices end?
#
# <details>
# <summary>Answer</summary>
#
# **1447**, which is one whole batch, and **3664**: a read ends with its segment, and the next fetch
# continues in the next one.
#
# ```python
# middle = (start + end) // 2
# empty = len(fetch(end, 1))
# print([len(fetch(middle, most)) - empty for most in (1, 4096)])
# batches = logs.inspect.batches(partitions=PARTITION).to_pandas()
# rest = batches[batches.last_offset >= middle]
# print(rest["size"].iloc[0])  # the batch that holds the offset
# ```
#
# ```output
# [1447, 3664]
# 1447
# ```
#
# </details>

# %%
# Your code

# %% [markdown]
# ## Next
#
# - `kafka-workbench serve DIR` serves a directory to clients outside of a notebook; with `--json`
#   it prints each request with its times.
# - [How a log is written](02_how_a_log_is_written.ipynb) shows how segments and indexes come about.
# - [Where do my consumers stand?](08_where_do_my_consumers_stand.ipynb) continues with groups and
#   their offsets.
