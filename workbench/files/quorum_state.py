"""`quorum-state`: a KRaft controller's leader or vote, in the directory of the metadata log.

One line of JSON. Version 0 names the voters and may name the cluster; version 1 (kraft.version 1,
dynamic voters) leaves both to the log and adds the directory id of the voted controller.

Kafka: FileQuorumStateStore, QuorumStateData.json (4.0)
"""

import json
from dataclasses import dataclass, replace
from typing import Any, Final, Self
from uuid import UUID

from workbench.errors import CorruptCheckpointError
from workbench.files import text
from workbench.files.reading import KIB, FileProblem, ProblemList, SmallFile
from workbench.layout.integers import INT32_MAX, INT64_MAX

NOBODY: Final = -1
LATEST_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class QuorumState(SmallFile):
    """A controller's last election.

    Attributes:
        leader_id: None when no leader was known.
        leader_epoch: None only if the file is damaged.
        voted_id: None without a vote in this epoch.
        voted_directory_id: the voted controller's; None in version 0 and without a vote.
        cluster_id: mostly empty; None in version 1.
        applied_offset: never used by a broker; None in version 1.
        current_voters: ids, in the file's order; None in version 1.
        version: `data_version`; None if the file is damaged.
        problems: see `reading`.
    """

    leader_id: int | None
    leader_epoch: int | None
    voted_id: int | None
    voted_directory_id: UUID | None = None
    cluster_id: str | None = None
    applied_offset: int | None = None
    current_voters: tuple[int, ...] | None = None
    version: int | None = LATEST_VERSION
    problems: tuple[FileProblem, ...] = ()

    corrupt_error = CorruptCheckpointError
    size_limit = 64 * KIB

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        line = next(iter(data.splitlines()), b"")  # a node reads one line, and one object in it
        fields = text.parse_json_object(line, problems, whole=False)
        if fields is None:
            return cls(None, None, None, version=None, problems=problems.found())
        version = text.json_integer(fields, "data_version", INT32_MAX, problems)
        if version is not None and not 0 <= version <= LATEST_VERSION:
            problems.add("unknown version", None, f"data_version {version}", "0 or 1")
        leader_id = text.json_integer(fields, "leaderId", INT32_MAX, problems)
        voted_id = text.json_integer(fields, "votedId", INT32_MAX, problems)
        state = cls(
            leader_id=None if leader_id == NOBODY else leader_id,
            leader_epoch=text.json_integer(fields, "leaderEpoch", INT32_MAX, problems),
            voted_id=None if voted_id == NOBODY else voted_id,
            version=version,
        )
        if version == 0:
            state = replace(
                state,
                cluster_id=_cluster_id(fields, problems),
                applied_offset=text.json_integer(fields, "appliedOffset", INT64_MAX, problems),
                current_voters=_voters(fields, problems),
            )
        else:
            state = replace(state, voted_directory_id=_directory_id(fields, problems))
        return replace(state, problems=problems.found())

    def encode(self) -> bytes:
        """Return the file's bytes."""
        fields: dict[str, Any] = {
            "leaderId": NOBODY if self.leader_id is None else self.leader_id,
            "leaderEpoch": self.leader_epoch,
            "votedId": NOBODY if self.voted_id is None else self.voted_id,
        }
        if self.version == 0:
            voters = None
            if self.current_voters is not None:
                voters = [{"voterId": voter} for voter in self.current_voters]
            fields = {"clusterId": self.cluster_id, **fields}
            fields |= {"appliedOffset": self.applied_offset, "currentVoters": voters}
        else:
            fields["votedDirectoryId"] = text.format_uuid(self.voted_directory_id or text.NO_UUID)
        fields["data_version"] = self.version
        return json.dumps(fields, separators=(",", ":")).encode()


def _cluster_id(fields: dict[str, Any], problems: ProblemList) -> str | None:
    if "clusterId" not in fields:
        problems.add("missing", None, "no clusterId", "one in version 0")
        return None
    cluster_id = fields["clusterId"]
    if isinstance(cluster_id, str):
        return cluster_id
    problems.add("bad value", None, f"clusterId {text.quote(str(cluster_id))}", "a string")
    return None


def _voters(fields: dict[str, Any], problems: ProblemList) -> tuple[int, ...] | None:
    if "currentVoters" not in fields:
        problems.add("missing", None, "no currentVoters", "one in version 0, null or a list")
        return None
    voters = fields["currentVoters"]
    if voters is None:  # a broker writes null before it knows any
        return None
    if not isinstance(voters, list) or not all(isinstance(voter, dict) for voter in voters):
        found = f"currentVoters {text.quote(str(voters))}"
        problems.add("bad value", None, found, "a list of objects")
        return None
    ids = [text.json_integer(voter, "voterId", INT32_MAX, problems) for voter in voters]
    return tuple(voter for voter in ids if voter is not None)


def _directory_id(fields: dict[str, Any], problems: ProblemList) -> UUID | None:
    if "votedDirectoryId" not in fields:
        problems.add("missing", None, "no votedDirectoryId", "one in version 1")
        return None
    written = fields["votedDirectoryId"]
    directory_id = text.parse_uuid(written) if isinstance(written, str) else None
    if directory_id is None:
        found = f"votedDirectoryId {text.quote(str(written))}"
        problems.add("bad value", None, found, "22 characters of base64")
    return None if directory_id == text.NO_UUID else directory_id
