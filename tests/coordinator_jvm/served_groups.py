"""Do with our classic groups what a line says, and report the outcome as `ClassicGroups.java`."""

import hashlib
import struct
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from workbench.coordinator.groups.classic.config import ClassicGroupConfig
from workbench.coordinator.groups.classic.group import GROUP_METADATA, ClassicGroup
from workbench.coordinator.groups.classic.group_metadata_manager import GroupMetadataManager
from workbench.coordinator.groups.classic.messages import (
    Committer,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberIdentity,
    Protocol,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
    complete,
)
from workbench.coordinator.groups.classic.records import group_of_record
from workbench.coordinator.groups.classic.timer import CoordinatorTimer, Operation
from workbench.coordinator.groups.groups import Group
from workbench.coordinator.runtime.records import CoordinatorRecord, CoordinatorResult
from workbench.decoders.consumer_offsets import TYPES
from workbench.decoders.typed_records import read_value
from workbench.errors import CoordinatorError, GroupStateError, InvalidTransitionError
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Observer

START = 1_800_000_000_000
_KEY_HEAD = 4  # bytes: the type and the length of the group's id


class Numbers:
    """UUIDs of the MD5 of 1, 2, 3 and so on."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self) -> str:
        self._count += 1
        digest = hashlib.md5(str(self._count).encode(), usedforsecurity=False).digest()
        return str(uuid.UUID(bytes=digest, version=4))


class Served:
    """The groups of one partition whose log is a list, and appends that fail or wait when told."""

    def __init__(self, observer: Observer | None = None) -> None:
        self.clock = ManualClock(START)
        self.written: list[CoordinatorRecord] = []
        self.out: list[str] = []
        self.answers: dict[str, str] = {}
        self._observer = observer
        self._config = ClassicGroupConfig()
        self._make_uuid = Numbers()
        self._failures: dict[str, ErrorCode] = {}
        self._holds = False
        self._held: deque[Callable[[ErrorCode], None]] = deque()
        self._queue: deque[Operation] = deque()
        self._is_writing = False
        self._load()

    def step(self, line: str) -> list[str]:
        """Do what a line says; return what came of it, the groups and the timers."""
        self.out = []
        what, *words = line.split("\t")
        getattr(self, f"_{what}")(*words)
        self._state()
        return self.out

    # what runs the operations

    def _load(self) -> None:
        self._held.clear()
        self._holds = False
        self.clock.listeners.clear()
        self.scheduler = ManualScheduler(self.clock)
        self.timer = CoordinatorTimer(self.scheduler, self._later)
        self.groups: dict[str, Group] = {}
        self.manager = GroupMetadataManager(
            self.groups,
            self.clock,
            self.timer,
            self._config,
            observer=self._observer,
            make_uuid=self._make_uuid,
        )
        for record in self.written:
            self._replay(record)
        self.manager.on_loaded()

    def _replay(self, record: CoordinatorRecord) -> None:
        name = _group_of(record)
        if record.value is None:
            self.groups.pop(name, None)
        else:
            fields = read_value(TYPES[GROUP_METADATA], record.value, refines=False).fields
            self.groups[name] = group_of_record(name, fields, None, None)

    def _later(self, operation: Operation) -> None:
        self._queue.append(operation)
        if not self._is_writing:
            self._run_queue()

    def _run_queue(self) -> None:
        while self._queue:
            self._write(self._queue.popleft())

    def _write(self, operation: Operation) -> tuple[ErrorCode, Any]:
        """Run an operation; return the error of it or of its append, and the response."""
        self._is_writing = True
        try:
            result = operation()
        except (GroupStateError, InvalidTransitionError, ValueError):
            return ErrorCode.UNKNOWN_SERVER_ERROR, None
        finally:
            self._is_writing = False
        for record in result.records:
            value = "null" if record.value is None else record.value.hex()
            self.out.append(f"record {record.key.hex()} {value}")
        error = ErrorCode.NONE
        if result.records:
            error = self._failures.pop(_group_of(result.records[0]), ErrorCode.NONE)
        if error is ErrorCode.NONE and result.records:
            if result.on_append is None:
                for record in result.records:
                    self._replay(record)
            self.written += result.records
            if self._holds and result.on_append is not None:
                self._held.append(result.on_append)
                return error, result.response
        if result.records and result.on_append is not None:
            result.on_append(error)
        return error, result.response

    def _operate(self, operation: Operation) -> tuple[ErrorCode, Any]:
        answer = self._write(operation)
        self._run_queue()
        return answer

    # lines

    def _new(self, max_size: str, delay: str, now: str) -> None:
        self._config = ClassicGroupConfig(
            max_size=int(max_size), initial_rebalance_delay_ms=int(delay)
        )
        self.clock.listeners.clear()
        self.clock.set(int(now))
        self._failures = {}
        self.written = []
        self._make_uuid = Numbers()
        self._load()

    def _now(self, now: str) -> None:
        self.clock.set(int(now))

    def _maxsize(self, size: str) -> None:
        # As a changed configuration: it counts from the next load on.
        delay = self._config.initial_rebalance_delay_ms
        self._config = ClassicGroupConfig(max_size=int(size), initial_rebalance_delay_ms=delay)

    def _fail(self, group: str, code: str) -> None:
        self._failures[group] = ErrorCode(int(code))

    def _hold(self) -> None:
        self._holds = True

    def _release(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self._holds = False
        while self._held:
            try:
                self._held.popleft()(error)
            except ValueError:
                continue  # Kafka's future swallows what its callback throws
        self._run_queue()

    def _timeout(self) -> None:
        self._release(ErrorCode.REQUEST_TIMED_OUT)

    def _reload(self) -> None:
        self._load()

    def _unload(self) -> None:
        self.manager.on_unloaded()
        self._load()

    def _join(
        self, label: str, client: str, version: str, group: str, session: str, rebalance: str,
        member: str, instance: str, kind: str, protocols: str,
    ) -> None:  # fmt: skip
        request = JoinGroupRequest(
            group,
            int(session),
            int(rebalance),
            member,
            _or_none(instance),
            kind,
            tuple(Protocol(name, bytes.fromhex(data)) for name, data in _pairs(protocols)),
        )
        waiting: Future[JoinGroupResponse] = Future()
        waiting.add_done_callback(lambda done: self._answer(label, _joined(done.result())))
        context = RequestContext(client, "/127.0.0.1", int(version))
        error, _ = self._operate(lambda: self.manager.join(context, request, waiting))
        if error is not ErrorCode.NONE:
            complete(waiting, JoinGroupResponse(error=error))

    def _sync(
        self, label: str, group: str, generation: str, member: str, instance: str, kind: str,
        name: str, assignments: str,
    ) -> None:  # fmt: skip
        request = SyncGroupRequest(
            group,
            int(generation),
            member,
            _or_none(instance),
            _or_none(kind),
            _or_none(name),
            tuple((who, bytes.fromhex(data)) for who, data in _pairs(assignments)),
        )
        waiting: Future[SyncGroupResponse] = Future()
        waiting.add_done_callback(lambda done: self._answer(label, _synced(done.result())))
        error, _ = self._operate(lambda: self.manager.sync(request, waiting))
        if error is not ErrorCode.NONE:
            complete(waiting, SyncGroupResponse(error))

    def _answer(self, label: str, text: str) -> None:
        self.answers[label] = text
        self.out.append(f"answer {label} {text}")

    def _heartbeat(self, group: str, generation: str, member: str, instance: str) -> None:
        request = HeartbeatRequest(group, int(generation), member, _or_none(instance))
        _, answer = self._operate(lambda: self.manager.heartbeat(request))
        # Kafka's manager throws what its service answers.
        is_told = answer in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
        self.out.append(f"{'heartbeat' if is_told else 'error'} {answer}")

    def _leave(self, group: str, members: str) -> None:
        leaving = [MemberIdentity(who, _or_none(instance)) for who, instance in _pairs(members)]
        is_known = group in self.groups
        error, answer = self._operate(lambda: self.manager.leave(group, leaving))
        if not is_known:
            error = answer.members[0].error if answer.members else ErrorCode.UNKNOWN_MEMBER_ID
        if error is not ErrorCode.NONE:
            self.out.append(f"error {error}")
            return
        outcomes = "".join(
            f" {who}:{_null(instance)}:{each}" for who, instance, each in answer.members
        )
        self.out.append(f"leave {answer.error}{outcomes}")

    def _commit(self, group: str, member: str, instance: str, generation: str) -> None:
        known = self.manager.groups.get(group)
        error = ErrorCode.GROUP_ID_NOT_FOUND
        if known is not None:
            committer = Committer(member, int(generation), _or_none(instance))
            error = _code(known.validate_offset_commit, committer)
        if error is ErrorCode.NONE:
            self.manager.extend_session(group, member)
        self.out.append(f"{'error' if error else 'commit'} {error}")

    def _describe(self, group: str, version: str) -> None:
        found = self.manager.describe_group(group, int(version))
        members = "".join(
            f" {m.member_id}:{_null(m.group_instance_id)}:{m.client_id}:{m.client_host}"
            f":{m.metadata.hex()}:{m.assignment.hex()}"
            for m in found.members
        )
        head = f"{found.group_id} {found.state} {found.error} {found.protocol_type}"
        self.out.append(f"described {head} {found.protocol}{members}")

    def _list(self, states: str) -> None:
        wanted = states.split(",") if states else []
        listed = sorted(
            f"{g.group_id}:{g.protocol_type}:{g.state}" for g in self.manager.list_groups(wanted)
        )
        self.out.append(f"listed {' '.join(listed)}")

    def _delete(self, groups: str) -> None:
        codes: dict[str, ErrorCode] = {}
        error, _ = self._operate(lambda: self._deletion(groups.split(","), codes))
        told = "".join(f" {name}:{code}" for name, code in codes.items())
        self.out.append(f"error {error}" if error else f"deleted{told}")

    def _deletion(self, groups: list[str], codes: dict[str, ErrorCode]) -> CoordinatorResult[None]:
        records: list[CoordinatorRecord] = []
        for name in groups:
            known = self.manager.groups.get(name)
            codes[name] = ErrorCode.GROUP_ID_NOT_FOUND
            if known is not None:
                codes[name] = _code(known.validate_delete_group)
            if known is not None and codes[name] is ErrorCode.NONE:
                records += known.tombstones()
        return CoordinatorResult(records, None)

    # the groups

    def _state(self) -> None:
        for group in sorted(self.manager.groups, key=lambda each: each.group_id):
            self.out.append(_group_text(group))
        timers = sorted(f"{task.name}@{int(task.due)}" for task in self.scheduler.pending)
        self.out.append(f"timers {' '.join(timers)}")


def _code(check: Callable[..., None], *arguments: Any) -> ErrorCode:
    try:
        check(*arguments)
    except CoordinatorError as error:
        return ErrorCode(error.code)
    return ErrorCode.NONE


def _group_of(record: CoordinatorRecord) -> str:
    (size,) = struct.unpack_from(">h", record.key, 2)
    return record.key[_KEY_HEAD : _KEY_HEAD + size].decode()


def _group_text(group: ClassicGroup) -> str:
    stamp = -1 if group.state_timestamp is None else group.state_timestamp
    topics = group.subscribed_topics
    words: list[Any] = ["group", group.group_id, group.state, group.generation]
    words += [_null(group.protocol_type or None), _null(group.protocol), _null(group.leader)]
    words += [stamp, len(group.pending_join_members), group.awaiting_join]
    words += ["sync", _java_list(group.pending_sync_members), "topics"]
    words += ["unknown" if topics is None else _java_list(topics)]
    for member in group.members.values():
        flags = "n" * member.is_new + "j" * (member.awaiting_join is not None)
        flags += "s" * (member.awaiting_sync is not None)
        words.append(f"{member.member_id}{flags}:{member.assignment.hex()}")
    return " ".join(map(str, words))


def _joined(answer: JoinGroupResponse) -> str:
    words: list[Any] = [answer.member_id, answer.error, answer.generation_id]
    words += [_null(answer.protocol_type), _null(answer.protocol_name), _null(answer.leader)]
    words += [str(answer.skip_assignment).lower()]
    words += [f"{m[0]}:{_null(m[1])}:{m[2].hex()}" for m in answer.members]
    return " ".join(map(str, words))


def _synced(answer: SyncGroupResponse) -> str:
    kind, name = _null(answer.protocol_type), _null(answer.protocol_name)
    return f"{answer.error} {kind} {name} {answer.assignment.hex()}"


def _java_list(names: Any) -> str:
    return f"[{', '.join(sorted(names))}]"


def _null(word: str | None) -> str:
    return "null" if word is None else word


def _or_none(word: str) -> str | None:
    return None if word == "~" else word


def _pairs(words: str) -> list[tuple[str, str]]:
    return [tuple(pair.split(":", 1)) for pair in words.split(",")] if words else []  # type: ignore[misc]
