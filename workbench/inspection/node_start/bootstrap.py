"""Judge the contents of `bootstrap.checkpoint` and of metadata snapshots, which have one format.

A controller reads `bootstrap.checkpoint` at every start, without checking CRCs, and needs the
finalized `metadata.version` in it. It reads the newest snapshot with its CRCs.

Kafka: BootstrapDirectory.read, BatchFileReader, BootstrapMetadata.fromRecords,
RecordsSnapshotReader (4.2)
"""

from typing import Final

from workbench.decoders.cluster_metadata import decode_value
from workbench.files import names
from workbench.inspection.cluster.image import METADATA_VERSION
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Root
from workbench.inspection.node_start.refusal import NO_CONTROLLER, RUNTIME, Refusal
from workbench.inspection.segment import Segment
from workbench.inspection.unreadable import if_readable
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, MAGIC_AT
from workbench.record.reading.reader import VALUES
from workbench.record.reading.recovery import whole_batches

_NO_LEVEL: Final = -1
_LATEST_MAGIC: Final = 2
_CORRUPT: Final = "org.apache.kafka.common.errors.CorruptRecordException"
_NULL: Final = "java.lang.NullPointerException"
_NO_ELEMENT: Final = "java.util.NoSuchElementException"


def judge_bootstrap(root: Root) -> Refusal | None:
    """Return why a node does not start with the `bootstrap.checkpoint` of a log directory."""
    entry = root.file(names.BOOTSTRAP_CHECKPOINT)
    if entry is None or if_readable(lambda: _metadata_version(entry)) != _NO_LEVEL:
        return None
    finding = Finding(
        "bootstrap-damaged", "error", entry.path, None, None,
        f"no record of {METADATA_VERSION}", "one",
        "The controller does not start, even if its metadata log is sound.",
    )  # fmt: skip
    return Refusal(finding, RUNTIME)


def bootstrap_level(root: Root) -> int | None:
    """Return the level of `metadata.version` in `bootstrap.checkpoint`; None without any."""
    entry = root.file(names.BOOTSTRAP_CHECKPOINT)
    level = None if entry is None else if_readable(lambda: _metadata_version(entry))
    return None if level == _NO_LEVEL else level


def _metadata_version(entry: FileEntry) -> int:
    """Return the last level of `metadata.version` in a file of records; CRCs are not checked."""
    found = _NO_LEVEL
    segment = Segment(0, {"log": entry}, is_active=False)
    for chunk in segment.read(options=VALUES, check_crc=False):
        values = chunk.columns.values
        assert values is not None
        for index in range(len(chunk.columns.offsets)):
            value = values.item(index)
            data = {} if value is None else decode_value(None, value).get("data", {})
            if isinstance(data, dict) and data.get("name") == METADATA_VERSION:
                found = int(data.get("featureLevel", _NO_LEVEL))
    return found


def judge_contents(entry: FileEntry) -> Refusal | None:
    """Return why a node does not start with the snapshot that it reads; None if it does.

    An incomplete batch at the end is not a reason: the node reads what is before it.

    Kafka: RecordsSnapshotReader, RecordsIterator, ByteBufferLogInputStream (4.2)
    """
    read = if_readable(lambda: _read_batches(entry))
    if read is None:
        return None
    position, problem = read
    if not problem and position:
        return None
    finding = Finding(
        "metadata-snapshot-damaged", "error", entry.path, position, None,
        problem or f"{entry.size} bytes without a whole batch", "whole batches with valid CRCs",
        NO_CONTROLLER,
    )  # fmt: skip
    if problem:
        return Refusal(finding, _CORRUPT)
    return Refusal(finding, _NULL if 0 < entry.size <= MAGIC_AT else _NO_ELEMENT)


def _read_batches(entry: FileEntry) -> tuple[int, str]:
    """Return where the whole batches of a file end, and which damage follows there."""
    position, problem = 0, ""
    with entry.open() as source:
        for batches in whole_batches(source, source.size):
            if len(batches.rows):
                last = batches.rows[-1]
                position = int(last["position"]) + int(last["size"])
            problem = batches.problem
        head = source.read(position, ENTRY_HEADER_SIZE).tobytes()
    if not problem and len(head) == ENTRY_HEADER_SIZE and head[MAGIC_AT] > _LATEST_MAGIC:
        problem = f"magic {int.from_bytes(head[MAGIC_AT:], signed=True)}"
    return position, problem
