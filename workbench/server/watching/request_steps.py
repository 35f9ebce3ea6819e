"""What happened to a request, step by step: from its frame through the log to the response.

The steps around the log say what the server has measured and sent. Those in the log are the
engine's own: it does the same read or lookup again, on a dry copy of one partition.

Kafka: KafkaApis.handle, ReplicaManager.readFromLog, UnifiedLog.read (4.0)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from workbench.errors import CorruptRecordError, WorkbenchError
from workbench.file_system.source import Files
from workbench.foresight.rehearse.log import Rehearsal, rehearse_lookup, rehearse_read
from workbench.log.log import Isolation
from workbench.record.message_spans import Path
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.steps import Step
from workbench.runtime.times import duration_text, ms_and_time
from workbench.runtime.words import plural
from workbench.server.protocol.api_keys import FETCH, LIST_OFFSETS
from workbench.server.protocol.frames import SIZE, UnknownRequestError, read_request
from workbench.server.watching.frame_fields import (
    SPECIAL_TIMES,
    NamedFrame,
    name_request,
    name_response,
)
from workbench.server.watching.watch import Values, WatchedRequest

REQUEST_KINDS: Final = {
    "request received": "all bytes of a request have arrived",
    "header read": "the header of a request says which kind of message follows, and who sent it",
    "handler called": "a thread took a request from the queue",
    "partition asked": "a request names a partition, and what it wants of it",
    "log failed": "the engine could not read the log",
    "partition answered": "the handler answers for a partition",
    "request waited": "a request waited for records, or for members of a group",
    "response sent": "the response was given to the client's connection",
    "request refused": "a request was not answered",
}
"""Every kind of step that is not the engine's, and what it means."""

_HANDLERS: Final = {
    "ListOffsets": "handleListOffsetRequest", "Metadata": "handleTopicMetadataRequest",
    "DescribeConfigs": "handleDescribeConfigsRequest", "OffsetFetch": "handleOffsetFetchRequest",
}  # fmt: skip
_MOST_PARTITIONS: Final = 50  # that are listed one by one
_READ_COMMITTED: Final = 1
_LONGEST_LOOK: Final = 0.5  # ms; a shorter wait is not reported


class ShownBytes(NamedTuple):
    """Bytes that a step is about: ``side`` "request" or "response", and [start, end) in it."""

    side: str
    start: int
    end: int


class PlacedStep(NamedTuple):
    """A step, with the bytes of the request or response that it is about; None: of neither."""

    step: Step
    place: ShownBytes | None


@dataclass(frozen=True, slots=True)
class RequestStory:
    """The way of one request.

    Attributes:
        request, response: both sides with names for their bytes.
        steps: in the order in which they happened.
        partitions: names of the partitions whose log can be shown.
        partition: the one whose log is shown; None: none.
        path: its directory; None: none.
    """

    request: NamedFrame
    response: NamedFrame
    steps: list[PlacedStep]
    partitions: list[str]
    partition: str | None
    path: str | None


def tell_request(watched: WatchedRequest, partition: str | None = None) -> RequestStory:
    """Return the way of a request.

    Args:
        watched: the request.
        partition: the partition to look into; None: the first that returned something.

    Raises:
        LookupError: the request does not name the partition.
    """
    return _Teller(watched, partition).story()


class _Asked(NamedTuple):
    """A partition in a request, with what the response says of it."""

    name: str
    asked: Values
    answer: Values
    path: Path


class _Teller:
    """Makes the steps of one request."""

    def __init__(self, watched: WatchedRequest, partition: str | None) -> None:
        self._watched = watched
        self._request, self._response = name_request(watched), name_response(watched)
        self._steps: list[PlacedStep] = []
        self._values = _values_of(self._request)
        self._asked = list(self._partitions()) if self._values else []
        named = [each.name for each in self._asked]
        if partition is not None and partition not in named:
            raise LookupError(f"the request does not name {partition} (expected one of {named})")
        self._chosen = self._choose() if partition is None else partition
        self._path: str | None = None

    def story(self) -> RequestStory:
        """Return the steps."""
        done = self._watched.done
        self._tell_frame()
        if done.api is not None and self._request.data:
            self._tell_handler()
            for number, each in enumerate(self._asked):
                self._tell_partition(each, self._taken_before(number))
            if done.remote_time_ms >= _LONGEST_LOOK:
                self._tell_wait()
        self._tell_end()
        named = [each.name for each in self._asked]
        return RequestStory(
            self._request, self._response, self._steps, named, self._chosen, self._path
        )

    def _tell(
        self, kind: str, place: tuple[str, Path] | None = None, reason: str = "", **numbers: Any
    ) -> None:
        where, found = "", None
        if place is not None:
            side, path = place
            where = side
            frame = self._request if side == "request" else self._response
            while path and path not in frame.places:  # beyond what was kept: what holds it
                path = path[:-1]
            bounds = frame.places.get(path)
            found = None if bounds is None else ShownBytes(side, *bounds)
        self._steps.append(PlacedStep(Step(kind, where, reason, numbers), found))

    # the frame

    def _tell_frame(self) -> None:
        done = self._watched.done
        size = done.request_bytes
        cut = (
            f"; its first {len(self._request.data):,} bytes are kept"
            if self._request.is_cut
            else ""
        )
        self._tell(
            "request received",
            ("request", ("size",)),
            f"the first 4 bytes from {done.client} say that {size:,} bytes follow{cut}",
            bytes=size,
        )
        if done.api is None:
            return
        named = "no client id" if done.client_id is None else f"client id {done.client_id}"
        self._tell(
            "header read",
            ("request", ("header",)),
            f"{done.api}, version {done.version}, {named}: version {done.version} says which "
            "fields follow, and how they are encoded",
            version=done.version,
        )

    def _tell_handler(self) -> None:
        done = self._watched.done
        name = _HANDLERS.get(str(done.api), f"handle{done.api}Request")
        self._tell(
            "handler called",
            ("request", ("body",)),
            f"after {duration_text(done.request_queue_time_ms)} in the queue, KafkaApis.handle "
            f"calls {name}",
            request_queue_time_ms=done.request_queue_time_ms,
        )

    # the partitions

    def _partitions(self) -> Iterator[_Asked]:
        """Yield the partitions of a fetch, or of a request for offsets, in the order of reading."""
        assert self._values is not None
        api = self._watched.done.api
        answers = {
            (each["topic"], each["partitionIndex"]): each
            for each in self._watched.answers
            if "partitionIndex" in each
        }
        if api == FETCH.name:
            paths = {where: path for where, _, path in self._named("partition")}
            for topic, number, asked in self._watched.asked:
                where = (topic, number)
                path = paths.get(where, ("sessionId",))
                yield _Asked(f"{topic}-{number}", asked, answers.get(where, {}), path)
        elif api == LIST_OFFSETS.name:
            for where, asked, path in self._named("partitionIndex"):
                yield _Asked(f"{where[0]}-{where[1]}", asked, answers.get(where, {}), path)

    def _named(self, key: str) -> Iterator[tuple[tuple[str, int], Values, Path]]:
        """Yield the partitions that the request itself names, with their places."""
        assert self._values is not None
        names, count = self._watched.catalog.names_by_id, 0
        for number, topic in enumerate(self._values["topics"]):
            ident = topic.get("topicId", "")
            name = topic.get("topic") or topic.get("name") or names.get(ident, ident)
            for at, asked in enumerate(topic["partitions"]):
                count += 1
                if count > _MOST_PARTITIONS:
                    return
                yield (name, asked[key]), asked, ("topics", number, "partitions", at)

    def _choose(self) -> str | None:
        """Return the partition to look into: the first with records, otherwise the first."""
        filled = [each.name for each in self._asked if each.answer.get("records")]
        return next(iter([*filled, *(each.name for each in self._asked)]), None)

    def _taken_before(self, number: int) -> int:
        return sum(each.answer.get("records", 0) for each in self._asked[:number])

    def _tell_partition(self, each: _Asked, taken: int) -> None:
        is_chosen = each.name == self._chosen
        if self._watched.done.api == FETCH.name:
            limits = self._tell_fetch(each, taken)
            read = None
            if is_chosen and limits is not None:
                read = self._fetch_of(each, *limits)
        else:
            read = self._tell_lookup(each)
        if is_chosen and read is not None and not self._is_remote(each):
            self._tell_log(each, read)
        self._tell_answer(each, is_chosen=is_chosen)

    def _tell_fetch(self, each: _Asked, taken: int) -> tuple[int, bool]:
        """Report what a fetch wants of a partition; return its bytes at most, and minOneMessage."""
        assert self._values is not None
        most = max(0, self._values.get("maxBytes", 0))
        left = max(0, min(most, self._watched.max_fetch_bytes) - taken)
        limit, is_first = min(max(0, each.asked["partitionMaxBytes"]), left), taken == 0
        first = (
            "no records are in the response yet, so minOneMessage: the first batch may be larger"
            if is_first
            else f"{taken:,} bytes are in the response already, so no minOneMessage"
        )
        told = "as its fetch session says, " if each.path == ("sessionId",) else ""
        self._tell(
            "partition asked",
            ("request", each.path),
            f"{told}read {each.name} from offset {each.asked['fetchOffset']:,}, at most "
            f"{limit:,} bytes; {first}",
            fetch_offset=each.asked["fetchOffset"],
            partition_max_bytes=each.asked["partitionMaxBytes"],
            max_bytes=most,
            left_of_max_bytes=left,
            min_one_message=is_first,
        )
        return limit, is_first

    def _fetch_of(
        self,
        each: _Asked,
        limit: int,
        is_first: bool,  # noqa: FBT001  # minOneMessage
    ) -> Callable[[str, Files], Rehearsal] | None:
        """Return what reads the log as the fetch did; None if the log was not read."""
        assert self._values is not None
        offset = each.asked["fetchOffset"]
        stable, high = each.answer.get("lastStableOffset", -1), each.answer.get("highWatermark", -1)
        committed = self._values.get("isolationLevel", 0) == _READ_COMMITTED
        end = stable if committed else high
        if each.answer.get("errorCode", 0) or not (limit or is_first) or offset >= end:
            return None
        isolation: Isolation = "read_committed" if committed else "high_watermark"
        return lambda path, fs: rehearse_read(
            path, offset, limit, isolation, min_one_message=is_first, fs=fs
        )

    def _tell_lookup(self, each: _Asked) -> Callable[[str, Files], Rehearsal] | None:
        """Report what a request for offsets wants of a partition; return what looks it up."""
        timestamp = each.asked["timestamp"]
        special = SPECIAL_TIMES.get(timestamp)
        reason = (
            f"find in {each.name} the first record at or after timestamp {ms_and_time(timestamp)}"
            if special is None
            else f"in {each.name}, {timestamp} stands for {special}, which needs no index"
        )
        self._tell("partition asked", ("request", each.path), reason, timestamp=timestamp)
        if special is not None or each.answer.get("errorCode", 0):
            return None
        return lambda path, fs: rehearse_lookup(path, timestamp=timestamp, fs=fs)

    def _is_remote(self, each: _Asked) -> bool:
        """Return whether the answer comes from a remote segment, which the engine does not read."""
        topic, _, number = each.name.rpartition("-")
        log = self._watched.catalog.log(topic, int(number))
        offset = {"fetchOffset": each.answer.get("offset", -1), **each.asked}["fetchOffset"]
        return log is not None and 0 <= int(offset) < log.local_log_start_offset

    def _tell_log(self, each: _Asked, read: Callable[[str, Files], Rehearsal]) -> None:
        topic, _, number = each.name.rpartition("-")
        log = self._watched.catalog.log(topic, int(number))
        if log is None:
            return
        try:
            found = read(log.path, log.fs)
        except (OSError, WorkbenchError) as error:
            self._tell("log failed", reason=str(error))
            return
        self._path = log.path
        self._steps += [PlacedStep(step, None) for step in found.steps]
        if found.error is not None:
            self._tell("log failed", reason=str(found.error))

    def _tell_answer(self, each: _Asked, *, is_chosen: bool) -> None:
        answer = each.answer
        number, at = answer.get("place", (0, 0))
        array = "topics" if self._watched.done.api == LIST_OFFSETS.name else "responses"
        place = ("response", (array, number, "partitions", at) if answer else ("body",))
        code = answer.get("errorCode", 0)
        if not answer:
            reason = f"nothing of {each.name} has changed, so the response does not name it"
            self._tell("partition answered", place, reason)
        elif code:
            self._tell(
                "partition answered", place, f"the answer for {each.name} is {ErrorCode(code).name}"
            )
        elif "records" in answer:
            more = self._beyond(answer["records"]) if is_chosen else ""
            if answer["records"] and self._is_remote(each):
                more = " of a remote segment, whose reading has no steps here"
            high = answer["highWatermark"]
            size = f"{answer['records']:,} bytes of records" if answer["records"] else "no records"
            if not answer["records"] and each.asked["fetchOffset"] >= high:
                more = "; the offset is the high watermark, so there is nothing to read"
            self._tell(
                "partition answered",
                place,
                f"the answer for {each.name} has {size}{more}",
                records_bytes=answer["records"],
                high_watermark=high,
                last_stable_offset=answer["lastStableOffset"],
                log_start_offset=answer["logStartOffset"],
                aborted_transactions=len(answer.get("abortedTransactions") or ()),
            )
        else:
            offset = answer.get("offset", -1)
            found = f"offset {offset:,}" if offset >= 0 else "no record is that late"
            numbers = {"timestamp": answer["timestamp"]} if answer.get("timestamp", -1) >= 0 else {}
            self._tell(
                "partition answered", place, f"in {each.name}, {found}", offset=offset, **numbers
            )

    def _beyond(self, size: int) -> str:
        """Say why the response has other bytes than the engine's slice."""
        slices = [each.step for each in self._steps if each.step.kind == "records sliced"]
        if not slices or slices[-1].numbers["size"] == size:
            return ""
        if slices[-1].numbers["size"] < size:
            return "; where the segment ends, a broker ends its answer, and this server reads on"
        return "; incomplete or invalid batches are left out"

    # the end

    def _tell_wait(self) -> None:
        done = self._watched.done
        waited = duration_text(done.remote_time_ms)
        if done.api == FETCH.name and self._values is not None:
            reason = (
                f"{waited} for minBytes = {self._values['minBytes']}, at most maxWaitMs = "
                f"{self._values['maxWaitMs']}"
            )
        else:
            reason = f"{waited} for other members of the group"
        self._tell("request waited", ("request", ("body",)), reason,
                   remote_time_ms=done.remote_time_ms)  # fmt: skip

    def _tell_end(self) -> None:
        done = self._watched.done
        if done.problem is not None:
            self._tell("request refused", ("response", ("header",)), done.problem)
        if not done.response_bytes:
            return
        cut = (
            f"; its first {len(self._response.data):,} bytes are kept"
            if self._response.is_cut
            else ""
        )
        self._tell(
            "response sent",
            ("response", ("header",)),
            f"{plural(done.response_bytes, 'byte')} in "
            f"{duration_text(done.response_send_time_ms)}, "
            f"{duration_text(done.total_time_ms)} after the request{cut}",
            bytes=done.response_bytes,
            local_time_ms=done.local_time_ms,
            response_send_time_ms=done.response_send_time_ms,
            total_time_ms=done.total_time_ms,
        )


def _values_of(frame: NamedFrame) -> Values | None:
    """Return the fields of a request; None if it is invalid or was not kept whole."""
    try:
        return read_request(frame.data[SIZE.size :]).values if not frame.is_cut else None
    except (UnknownRequestError, CorruptRecordError):
        return None
