"""The kinds of files and of bytes that get a page in the documentation, and examples of each."""

from __future__ import annotations

from typing import Final, NamedTuple


class Example(NamedTuple):
    """Bytes of a sample.

    Attributes:
        path: the file, in `sample_data`.
        start: byte where the batch, or the first entry, begins.
        stop: byte after the last entry; None: the batch at ``start``.
        groups: which groups of the batch are shown, such as ``record 0``; empty: all.
        about: a sentence on what the example shows.
    """

    path: str
    start: int
    stop: int | None
    about: str
    groups: tuple[str, ...] = ()


class Format(NamedTuple):
    """A kind of file, or of run of bytes.

    Attributes:
        page: the name of its page, without a folder.
        title: the page's heading.
        modules: (heading, module) of each docstring that is part of the text; an empty heading
            leaves the docstring its own first line.
        layouts: (heading, module, name of the dtype).
        state: module and class whose ``Attributes`` say what a text file holds; None: none.
        examples: bytes of samples.
    """

    page: str
    title: str
    modules: tuple[tuple[str, str], ...]
    layouts: tuple[tuple[str, str, str], ...]
    state: tuple[str, str] | None
    examples: tuple[Example, ...]


_ORDERS: Final = "shop-4.3.1/orders-0/00000000000000000000"
_PAYMENTS: Final = "shop-4.3.1/payments-0/00000000000000000000"
_INDEXES: Final = "workbench.layout.index_entries"

FORMATS: Final = (
    Format(
        "record-batch",
        "Record batch (magic 2)",
        (("", "workbench.layout.batch_header"),),
        (("Header", "workbench.layout.batch_header", "BATCH_HEADER"),),
        None,
        (
            Example(
                f"{_ORDERS}.log",
                1149,
                None,
                "A batch of one record, not compressed. [Its record](record.md) follows.",
                ("batch header",),
            ),
        ),
    ),
    Format(
        "record",
        "Record (magic 2)",
        (
            (
                "What a batch of magic 2 holds after its header.",
                "workbench.inspection.bytes.record_fields",
            ),
        ),
        (),
        None,
        (
            Example(
                f"{_ORDERS}.log",
                1149,
                None,
                "The record of the batch at byte 1149.",
                ("record 0",),
            ),
            Example(
                "era-0.11.0.3/orders-0/00000000000000000000.log",
                0,
                None,
                "Of a compressed batch, the records are one field in the file. Positions below "
                "that field are in what it decompresses to.",
                ("records", "record 0"),
            ),
        ),
    ),
    Format(
        "messages",
        "Messages (magic 0 and 1)",
        (("", "workbench.layout.message_header"),),
        (
            ("Magic 0", "workbench.layout.message_header", "MESSAGE_V0"),
            ("Magic 1", "workbench.layout.message_header", "MESSAGE_V1"),
        ),
        None,
        (
            Example(
                "era-0.8.2.2/customers-0/00000000000000000000.log",
                0,
                None,
                "A message of magic 0, written by Kafka 0.8.2.",
            ),
            Example(
                "era-0.10.2.2/customers-0/00000000000000000000.log",
                0,
                None,
                "A message of magic 1, written by Kafka 0.10.2.",
            ),
            Example(
                "era-0.8.2.2/customers-0/00000000000000000246.log",
                0,
                None,
                "A wrapper: its value is a message, compressed with gzip.",
            ),
        ),
    ),
    Format(
        "control-records",
        "Control records",
        (
            ("", "workbench.layout.control_records"),
            ("In a log", "workbench.record.control"),
        ),
        (
            ("Key", "workbench.layout.control_records", "CONTROL_KEY"),
            (
                "Value of a transaction marker",
                "workbench.layout.control_records",
                "END_TRANSACTION",
            ),
        ),
        None,
        (
            Example(f"{_PAYMENTS}.log", 471, None, "A transaction marker, the whole batch."),
            Example(
                "shop-4.3.1/__cluster_metadata-0/00000000000000000000.log",
                0,
                None,
                "The election of a leader, in KRaft's own log.",
                ("record 0",),
            ),
        ),
    ),
    Format(
        "offset-index",
        "Offset index (.index)",
        (("", "workbench.files.indexes.offset_index"),),
        (("Entry", _INDEXES, "OFFSET_ENTRY"),),
        None,
        (Example(f"{_ORDERS}.index", 0, 24, "Three entries of a segment with base offset 0."),),
    ),
    Format(
        "time-index",
        "Time index (.timeindex)",
        (("", "workbench.files.indexes.time_index"),),
        (("Entry", _INDEXES, "TIME_ENTRY"),),
        None,
        (Example(f"{_ORDERS}.timeindex", 0, 24, "Two entries."),),
    ),
    Format(
        "transaction-index",
        "Transaction index (.txnindex)",
        (("", "workbench.files.indexes.transaction_index"),),
        (("Entry", _INDEXES, "ABORTED_TRANSACTION"),),
        None,
        (Example(f"{_PAYMENTS}.txnindex", 0, 34, "One aborted transaction."),),
    ),
    Format(
        "producer-snapshot",
        "Producer snapshot (.snapshot)",
        (("", "workbench.files.producer_snapshot"),),
        (
            ("Header", "workbench.layout.producer_snapshot", "SNAPSHOT_HEADER"),
            ("Entry", "workbench.layout.producer_snapshot", "PRODUCER_ENTRY"),
        ),
        None,
        (
            Example(
                "shop-4.3.1/payments-0/00000000000000000480.snapshot",
                0,
                102,
                "The producers of a log at offset 480.",
            ),
        ),
    ),
    Format(
        "leader-epoch-checkpoint",
        "leader-epoch-checkpoint",
        (
            ("", "workbench.files.leader_epochs"),
            ("The text of a checkpoint", "workbench.files.text"),
        ),
        (),
        ("workbench.files.leader_epochs", "EpochEntry"),
        (Example("shop-4.3.1/orders-0/leader-epoch-checkpoint", 0, 1 << 10, "Three epochs."),),
    ),
    Format(
        "offset-checkpoints",
        "Offset checkpoints",
        (
            ("", "workbench.files.checkpoints"),
            ("The text of a checkpoint", "workbench.files.text"),
        ),
        (),
        ("workbench.files.checkpoints", "OffsetCheckpoint"),
        (
            Example(
                "shop-4.3.1/cleaner-offset-checkpoint",
                0,
                1 << 10,
                "What compaction has read of two partitions.",
            ),
            Example(
                "shop-4.3.1/log-start-offset-checkpoint",
                0,
                1 << 10,
                "No log starts after the base offset of its first segment.",
            ),
            Example("shop-4.3.1/replication-offset-checkpoint", 0, 1 << 10, "The high watermarks."),
        ),
    ),
    Format(
        "meta-properties",
        "meta.properties",
        (("", "workbench.files.meta_properties"),),
        (),
        ("workbench.files.meta_properties", "MetaProperties"),
        (
            Example("shop-4.3.1/meta.properties", 0, 1 << 10, "Version 1, by a KRaft broker."),
            Example("era-0.10.2.2/meta.properties", 0, 1 << 10, "Version 0, with ZooKeeper."),
        ),
    ),
    Format(
        "partition-metadata",
        "partition.metadata",
        (("", "workbench.files.partition_metadata"),),
        (),
        ("workbench.files.partition_metadata", "PartitionMetadata"),
        (Example("shop-4.3.1/orders-0/partition.metadata", 0, 1 << 10, "The topic's id."),),
    ),
    Format(
        "quorum-state",
        "quorum-state",
        (("", "workbench.files.quorum_state"),),
        (),
        ("workbench.files.quorum_state", "QuorumState"),
        (
            Example(
                "shop-4.3.1/__cluster_metadata-0/quorum-state",
                0,
                1 << 10,
                "A controller that is its own only voter.",
            ),
        ),
    ),
    Format(
        "clean-shutdown",
        ".kafka_cleanshutdown",
        (("", "workbench.files.clean_shutdown"),),
        (),
        ("workbench.files.clean_shutdown", "CleanShutdown"),
        (Example("shop-4.3.1/.kafka_cleanshutdown", 0, 1 << 10, "Since 3.7."),),
    ),
)
