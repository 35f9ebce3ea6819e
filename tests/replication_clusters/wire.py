"""Requests to one broker at a time: what a client of a recorded cluster sends, and is told.

A recording must reach a chosen broker, also one that no longer leads, must know of each answer, and
must ask a follower for its offsets. Clients that find the leader themselves cannot do that. The
bytes are those of kafka-python's protocol classes.

Followers answer too: ListOffsets with replica id -2 (`DEBUGGING_REPLICA_ID`) gives the log end
offset, and a consumer's Fetch the high watermark, because consumers may read from followers
(KIP-392, 2.4 and later; before, only with replica id -2).
"""

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka.errors import for_code
from kafka.protocol.admin.topics import (
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DescribeTopicPartitionsRequest,
    ElectLeadersRequest,
)
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.consumer.offsets import ListOffsetsRequest
from kafka.protocol.metadata.api_versions import ApiVersionsRequest
from kafka.protocol.metadata.metadata import MetadataRequest
from kafka.protocol.producer.produce import ProduceRequest
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

from tests.kafka_broker import parse_version

CONSUMER = -1  # replica ids of requests that do not come from a follower
DEBUGGER = -2
LATEST, EARLIEST = -1, -2  # timestamps in ListOffsets
NO_TOPICS_YET = {5, 7, 38, 39, 41}  # errors of a cluster that is still coming up
METADATA_WITH_EPOCHS = 8
ELECTIONS = {"preferred": 0, "unclean": 1}


class Offsets(NamedTuple):
    """Where one replica's log is, as its broker says."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int


class Leadership(NamedTuple):
    """Who leads partition 0, as a broker's metadata says. Sorted: the order has no meaning.

    Attributes:
        leader: -1 if there is none.
        elr, last_known_elr: KIP-966; None if the version does not tell them.
    """

    leader: int
    leader_epoch: int
    isr: list[int]
    elr: list[int] | None
    last_known_elr: list[int] | None


class Sent(NamedTuple):
    """What a producer was told: the name of an error, or the offset of the record."""

    error: str | None
    offset: int | None


class Consumed(NamedTuple):
    """One record that a consumer got."""

    offset: int
    value: str


class Wire:
    """Requests in the versions that a broker's version takes."""

    def __init__(self, version: str) -> None:
        number = parse_version(version)
        self.magic = 2 if number >= (0, 11) else 1
        self._produce = 3 if number >= (0, 11) else 2
        self._fetch = 11 if number >= (2, 4) else 4 if number >= (0, 11) else 3
        self._fetches_from_follower_as = CONSUMER if number >= (2, 4) else DEBUGGER
        self._create = 2 if number >= (0, 11) else 1
        self._describes_partitions = number >= (3, 8)

    def create_topic(
        self, port: int, topic: str, replicas: Sequence[int], configs: dict[str, str]
    ) -> None:
        """Make a topic of one partition whose replicas are on these brokers, the first leads.

        Raises:
            RuntimeError: the brokers refused it, or were not up within 60 s.
        """
        kind = CreateTopicsRequest.CreatableTopic
        request = CreateTopicsRequest(
            version=self._create,
            topics=[
                kind(
                    name=topic,
                    num_partitions=-1,
                    replication_factor=-1,
                    assignments=[
                        kind.CreatableReplicaAssignment(
                            partition_index=0, broker_ids=list(replicas)
                        )
                    ],
                    configs=[
                        kind.CreatableTopicConfig(name=name, value=value)
                        for name, value in configs.items()
                    ],
                )
            ],
            timeout_ms=10_000,
            validate_only=False,
        )
        deadline = time.monotonic() + 60
        while True:
            (answer,) = ask(port, request).topics
            if answer.error_code not in NO_TOPICS_YET or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        if answer.error_code:
            raise RuntimeError(f"{topic} was not made: {error_name(answer.error_code)}")

    def produce(
        self, port: int, topic: str, value: str, acks: int, timeout_ms: int, timestamp: int
    ) -> Sent:
        """Send one record in a batch of its own. No answer (the broker died) is NO_ANSWER."""
        batch = MemoryRecordsBuilder(self.magic, 0, 1 << 20)
        batch.append(timestamp, None, value.encode())
        batch.close()
        kind = ProduceRequest.TopicProduceData
        records = kind.PartitionProduceData(index=0, records=batch.buffer())
        request = ProduceRequest(
            version=self._produce,
            transactional_id=None,
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=[kind(name=topic, partition_data=[records])],
        )
        try:
            answer = ask(port, request, seconds=timeout_ms / 1000 + 30)
        except OSError:
            return Sent("NO_ANSWER", None)
        if answer is None:
            return Sent(None, None)
        told = answer.responses[0].partition_responses[0]
        if told.error_code:
            return Sent(error_name(told.error_code), None)
        return Sent(None, told.base_offset)

    def offsets(self, port: int, topic: str) -> Offsets | None:
        """Return where the broker's replica is; None while it does not serve it."""
        start, end = (self._listed(port, topic, which) for which in (EARLIEST, LATEST))
        # From the end, because nothing is wanted of the records.
        at = self._fetched(port, topic, end.offset, self._fetches_from_follower_as)
        if start.error_code or end.error_code or at.error_code:
            return None
        return Offsets(start.offset, end.offset, at.high_watermark)

    def _listed(self, port: int, topic: str, timestamp: int) -> Any:
        kind = ListOffsetsRequest.ListOffsetsTopic
        partition = kind.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(
            version=1, replica_id=DEBUGGER, topics=[kind(name=topic, partitions=[partition])]
        )
        return ask(port, request).topics[0].partitions[0]

    def consume(self, port: int, topic: str) -> list[Consumed]:
        """Return all records that a consumer gets of the leader, from the log start offset on."""
        start = self._listed(port, topic, EARLIEST).offset
        found: list[Consumed] = []
        while True:
            at = found[-1].offset + 1 if found else start
            part = self._fetched(port, topic, at, CONSUMER)
            if part.error_code:
                raise RuntimeError(f"consumer at {at}: {error_name(part.error_code)}")
            batches = MemoryRecords(bytes(part.records or b""))
            new = [
                Consumed(record.offset, record.value.decode())
                for batch in batches
                for record in batch
                if record.offset >= at
            ]
            if not new:
                return found
            found += new

    def _fetched(self, port: int, topic: str, offset: int, replica: int) -> Any:
        kind = FetchRequest.FetchTopic
        partition = kind.FetchPartition(
            partition=0,
            current_leader_epoch=-1,
            fetch_offset=offset,
            log_start_offset=-1,
            partition_max_bytes=1 << 20,
        )
        request = FetchRequest(
            version=self._fetch,
            replica_id=replica,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[kind(topic=topic, partitions=[partition])],
            forgotten_topics_data=[],
            rack_id="",
        )
        return ask(port, request).responses[0].partitions[0]

    def delete_records(self, port: int, topic: str, before: int) -> str | None:
        """Ask the leader to raise the log start offset; return the name of an error (0.11 on)."""
        kind = DeleteRecordsRequest.DeleteRecordsTopic
        partition = kind.DeleteRecordsPartition(partition_index=0, offset=before)
        request = DeleteRecordsRequest(
            version=0, topics=[kind(name=topic, partitions=[partition])], timeout_ms=10_000
        )
        code = ask(port, request).topics[0].partitions[0].error_code
        return error_name(code) if code else None

    def leadership(self, port: int, topic: str) -> Leadership | None:
        """Return who leads as a KRaft broker's metadata says; None while it does not know.

        Up to 3.7 Metadata says it, without eligible leader replicas.
        """
        if not self._describes_partitions:
            return self._leadership_in_metadata(port, topic)
        kind = DescribeTopicPartitionsRequest.TopicRequest
        request = DescribeTopicPartitionsRequest(
            version=0, topics=[kind(name=topic)], response_partition_limit=100, cursor=None
        )
        (told,) = ask(port, request).topics
        if told.error_code or not told.partitions:
            return None
        (partition,) = told.partitions
        elr, last = partition.eligible_leader_replicas, partition.last_known_elr
        return Leadership(
            partition.leader_id,
            partition.leader_epoch,
            sorted(partition.isr_nodes),
            None if elr is None else sorted(elr),
            None if last is None else sorted(last),
        )

    def _leadership_in_metadata(self, port: int, topic: str) -> Leadership | None:
        request = MetadataRequest(
            version=METADATA_WITH_EPOCHS,
            topics=[MetadataRequest.MetadataRequestTopic(name=topic)],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        (told,) = ask(port, request).topics
        if told.error_code or not told.partitions:
            return None
        (partition,) = told.partitions
        isr = sorted(partition.isr_nodes)
        return Leadership(partition.leader_id, partition.leader_epoch, isr, None, None)

    def commit(self, port: int, group: str, offset: int) -> Sent:
        """Commit an offset for `orders-0` from outside of the group; see `produce`."""
        kind = OffsetCommitRequest.OffsetCommitRequestTopic
        partition = kind.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        request = OffsetCommitRequest(
            version=2,
            group_id=group,
            generation_id_or_member_epoch=-1,
            member_id="",
            retention_time_ms=-1,
            topics=[kind(name="orders", partitions=[partition])],
        )
        try:
            code = ask(port, request, seconds=30).topics[0].partitions[0].error_code
        except OSError:
            return Sent("NO_ANSWER", None)
        return Sent(error_name(code) if code else None, None)

    def committed(self, port: int, group: str) -> int | str:
        """Return the offset at which a group resumes in `orders-0`, or the name of an error."""
        kind = OffsetFetchRequest.OffsetFetchRequestTopic
        request = OffsetFetchRequest(
            version=2, group_id=group, topics=[kind(name="orders", partition_indexes=[0])]
        )
        answer = ask(port, request)
        if answer.error_code:
            return error_name(answer.error_code)
        partition = answer.topics[0].partitions[0]
        return (
            error_name(partition.error_code)
            if partition.error_code
            else (int(partition.committed_offset))
        )

    def highest_fetch(self, port: int) -> int:
        """Return the highest version of Fetch that a broker takes; 0.10 and later."""
        found = ask(port, ApiVersionsRequest(version=0)).api_keys
        return next(int(one.max_version) for one in found if one.api_key == FetchRequest.API_KEY)

    def live_brokers(self, port: int) -> list[int]:
        """Return the brokers that a KRaft broker's metadata calls alive: registered, not fenced."""
        request = MetadataRequest(version=4, topics=[], allow_auto_topic_creation=False)
        return sorted(broker.node_id for broker in ask(port, request).brokers)

    def elect(self, port: int, topic: str, how: str) -> str | None:
        """Ask the controller for an election, "preferred" or "unclean"; return an error's name."""
        kind = ElectLeadersRequest.TopicPartitions
        request = ElectLeadersRequest(
            version=1,
            election_type=ELECTIONS[how],
            topic_partitions=[kind(topic=topic, partitions=[0])],
            timeout_ms=10_000,
        )
        answer = ask(port, request)
        told = [p.error_code for t in answer.replica_election_results for p in t.partition_result]
        return next((error_name(code) for code in (answer.error_code, *told) if code), None)


def error_name(code: int) -> str:
    """Return Kafka's name of an error code."""
    return "NOT_LEADER_OR_FOLLOWER" if code == 6 else str(for_code(code).message)


def ask(port: int, request: Any, *, seconds: float = 15) -> Any:
    """Send a request to the broker at a port of the loopback; return the decoded answer.

    Raises:
        OSError: the broker is not there, closed the connection, or did not answer in time.
    """
    request.with_header(correlation_id=1, client_id="recorder")
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        connection.sendall(request.encode(header=True, framed=True))
        if not request.expect_response():
            time.sleep(0.3)  # a broker may not read what was sent on a connection that is closed
            return None
        (size,) = struct.unpack(">i", _receive(connection, 4))
        answer = _receive(connection, size)
    response = ResponseClassRegistry.get_response_class(request.header)
    return response.decode(answer, version=request.API_VERSION, header=True)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the broker closed the connection")
        received += part
    return received
