"""Carry out an `offset_scripts.OffsetScript` with our offset manager on a log of its own."""

from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from tests.coordinator_jvm.offset_scripts import METADATA_MAX_BYTES, NOW, RETENTION_MS
from workbench.coordinator.group_coordinator.offset_manager import OffsetManager
from workbench.coordinator.groups.group_load import GROUPS_TOPIC
from workbench.coordinator.offsets.offset_config import OffsetConfig
from workbench.coordinator.offsets.offset_metadata_manager import OffsetCommit
from workbench.coordinator.runtime.append_errors import answer_to
from workbench.coordinator.runtime.records import CoordinatorRecord, CoordinatorResult
from workbench.errors import CoordinatorError
from workbench.files.names import TopicPartition
from workbench.log_manager.manager import LogManager
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode

_UNLIMITED = {"cleanup.policy": "compact", "segment.ms": 1 << 60}
_FULL = {**_UNLIMITED, "max.message.bytes": 1}  # no append succeeds


class OffsetSequence:
    """One offset manager that carries out operations."""

    def __init__(self, folder: Path) -> None:
        self._clock = ManualClock(NOW)
        configs = {GROUPS_TOPIC: _UNLIMITED}
        self._manager = LogManager([folder], clock=self._clock, topic_configs=configs)
        self._manager.startup(with_tasks=False)
        self._log = self._manager.get_or_create_log(GROUPS_TOPIC, 0)
        config = OffsetConfig(
            metadata_max_bytes=METADATA_MAX_BYTES, retention_ms=RETENTION_MS, topic_num_partitions=1
        )
        self._offsets = OffsetManager(self._manager, config=config)
        self._offsets.startup(with_tasks=False)

    def run(self, script: str) -> list[str]:
        """Return the answer to each line, with the records that were written."""
        answers = [self._line(line.split(" ")) for line in script.splitlines()]
        self._manager.shutdown()
        return answers

    def _line(self, words: list[str]) -> str:
        fails = words[0].startswith("fail-")
        operation = words[0].removeprefix("fail-")
        before = self._log.log_end_offset
        if fails:
            self._manager.update_topic_config(GROUPS_TOPIC, _FULL)
        try:
            answer = getattr(self, f"_{operation.replace('-', '_')}")(words[1:])
        except CoordinatorError as error:
            is_append = fails and error.error == "UNKNOWN_SERVER_ERROR"
            return "failed" if is_append else f"error {error.error}"
        finally:
            if fails:
                self._manager.update_topic_config(GROUPS_TOPIC, _UNLIMITED)
        told = "".join(f" {each}" for each in answer or ())
        if operation in ("record", "marker"):
            return "done"
        records = self._records_from(before)
        if operation not in ("commit", "transact"):
            records.sort()
        return f"done{told}" + (f" | {' '.join(records)}" if records else "")

    def _records_from(self, offset: int) -> list[str]:
        found = []
        while offset < self._log.log_end_offset:
            records = self._log.read(offset, 1 << 20).records.records()
            for each in records:
                if each.offset >= offset:
                    value = "null" if each.value is None else each.value.hex()
                    found.append(f"{(each.key or b'').hex()}:{value}")
            offset = records[-1].offset + 1
        return found

    def _now(self, words: list[str]) -> None:
        self._clock.set(int(words[0]))

    def _reload(self, _: list[str]) -> None:
        self._offsets.unload(0)
        self._offsets.load(0)

    def _translate(self, words: list[str]) -> list[str]:
        return [str(answer_to(ErrorCode(int(words[0]))).value)]

    def _record(self, words: list[str]) -> None:
        value = None if words[1] == "null" else bytes.fromhex(words[1])
        record = CoordinatorRecord(bytes.fromhex(words[0]), value)
        self._offsets.runtime.write(0, lambda _: CoordinatorResult([record], None))

    def _marker(self, words: list[str]) -> None:
        self._offsets.complete_transaction(0, int(words[0]), 0, 0, is_commit=words[1] == "commit")

    def _commit(self, words: list[str]) -> list[str]:
        group, member, generation, instance, retention, version = words[:6]
        codes = self._offsets.commit(
            unquote_plus(group),
            dict(map(_commit, words[6:])),
            member_id=member,
            generation=int(generation),
            group_instance_id=_or_none(instance),
            retention_ms=None if retention == "-1" else int(retention),
            api_version=int(version),
        )
        return _codes(codes)

    def _transact(self, words: list[str]) -> list[str]:
        producer, group, member, generation, instance = words[:5]
        codes = self._offsets.commit_transactional(
            unquote_plus(group),
            dict(map(_commit, words[5:])),
            producer_id=int(producer),
            producer_epoch=0,
            member_id=member,
            generation=int(generation),
            group_instance_id=_or_none(instance),
        )
        return _codes(codes)

    def _fetch(self, words: list[str]) -> list[str]:
        topics = dict(each.split(":") for each in words[4:])
        ids = {_partition(name): id_ for name, id_ in topics.items()}
        found: dict[TopicPartition, Any] = {}
        for where, topic_id in ids.items():
            found |= self._offsets.fetch(
                unquote_plus(words[0]),
                [where],
                require_stable=words[1] == "stable",
                member_id=_or_none(words[2]),
                member_epoch=int(words[3]),
                topic_ids={} if topic_id == NULL_UUID else {where.topic: topic_id},
            )
        return _fetched(found)

    def _fetch_all(self, words: list[str]) -> list[str]:
        return _fetched(
            self._offsets.fetch(
                unquote_plus(words[0]),
                require_stable=words[1] == "stable",
                member_id=_or_none(words[2]),
                member_epoch=int(words[3]),
            )
        )

    def _delete_offsets(self, words: list[str]) -> list[str]:
        group = unquote_plus(words[0])
        wanted = [_partition(each) for each in words[1:]]
        write = self._offsets.runtime.write
        return sorted(_codes(write(0, lambda shard: shard.delete_offsets(group, wanted))))

    def _delete_groups(self, words: list[str]) -> list[str]:
        names = [unquote_plus(each) for each in words]
        codes = self._offsets.runtime.write(0, lambda shard: shard.delete_groups(names))
        return [f"{quote_plus(name)}={code.value}" for name, code in codes.items()]

    def _gone(self, words: list[str]) -> None:
        self._offsets.on_partitions_deleted([_partition(each) for each in words])

    def _cleanup(self, _: list[str]) -> None:
        self._offsets.cleanup_group_metadata()


def _or_none(word: str) -> str | None:
    return None if word == "-" else unquote_plus(word)


def _partition(word: str) -> TopicPartition:
    topic, number = word.rsplit("-", 1)
    return TopicPartition(unquote_plus(topic), int(number))


def _commit(word: str) -> tuple[TopicPartition, OffsetCommit]:
    where, offset, epoch, metadata, *topic_id = word.split(":")
    leader_epoch = None if epoch == "-1" else int(epoch)
    known = None if topic_id in ([], [NULL_UUID]) else topic_id[0]
    commit = OffsetCommit(int(offset), leader_epoch, unquote_plus(metadata), known)
    return _partition(where), commit


def _named(where: TopicPartition) -> str:
    return f"{quote_plus(where.topic)}-{where.partition}"


def _codes(codes: dict[TopicPartition, Any]) -> list[str]:
    return [f"{_named(where)}={code.value}" for where, code in codes.items()]


def _fetched(found: dict[TopicPartition, Any]) -> list[str]:
    answers = {}
    for where, value in found.items():
        epoch = -1 if value.leader_epoch is None else value.leader_epoch
        metadata = quote_plus(value.metadata)
        answers[_named(where)] = f"{value.offset}/{epoch}/{metadata}/{value.error.value}"
    return [f"{name}={answers[name]}" for name in sorted(answers)]
