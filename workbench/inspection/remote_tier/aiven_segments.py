"""The segments in a partition's folder of Aiven's layout.

Aiven: ObjectKeyFactory (1.2)
"""

from dataclasses import dataclass

from workbench.inspection.remote_tier.aiven_files import AivenFiles
from workbench.inspection.remote_tier.segment_metadata import RemoteSegmentMetadata
from workbench.inspection.remote_tier.stored_segments import (
    StoredPartition,
    StoredSegment,
    files_by_segment,
)
from workbench.inspection.remote_tier.tier_names import AIVEN_SUFFIXES, LOG, MANIFEST


@dataclass(frozen=True)
class AivenSegment(StoredSegment):
    """The files of one remote segment, and the manifest that describes them.

    Attributes:
        tier: what opens the files.
        stem: path of the stored files, without their suffixes.
    """

    tier: AivenFiles | None = None
    stem: str = ""

    def own_metadata(self) -> RemoteSegmentMetadata | None:
        """Return what the manifest says; without metadata in it, what the files say.

        Raises:
            OSError: the manifest or a file cannot be read.
        """
        assert self.tier is not None
        if not self.files:
            return None
        return self.tier.manifest(self.stem).metadata or super().own_metadata()


def list_aiven_segments(path: str, tier: str, files: AivenFiles) -> StoredPartition:
    """Return the segments in a partition's folder; a segment needs its `.log` and its manifest.

    Args:
        path: the folder.
        tier: the tier's folder; links that lead out of it are not followed.
        files: what opens the files.
    """
    stored, unknown, unread = files_by_segment(path, tier, files.stored_by)
    segments: dict[str, StoredSegment] = {}
    for (start, segment_id), found in stored.items():
        stem = f"{path}/{start:020d}-{segment_id}"
        is_readable = LOG in found and MANIFEST in found
        segments[segment_id] = AivenSegment(
            segment_id,
            start,
            files.files(stem) if is_readable else {},
            files.leader_epochs(stem) if is_readable else None,
            tuple(suffix for suffix in AIVEN_SUFFIXES if suffix not in found),
            tuple(found.values()),
            tier=files,
            stem=stem,
        )
    return StoredPartition(path, segments, unknown, unread)
