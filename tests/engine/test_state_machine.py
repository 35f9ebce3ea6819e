"""Whatever is done to a log in whatever order: it holds what a plain list would."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.engine.appending_machine import RETENTION_MS, AppendingMachine, parts
from tests.engine.soundness import assert_sound
from workbench.errors import OffsetOutOfRangeError
from workbench.log.timestamp_search import MAX_TIMESTAMP

isolations = st.sampled_from(["log_end", "high_watermark", "read_committed"])


class LogMachine(AppendingMachine):
    def teardown(self) -> None:
        self.log.close_handlers()
        shutil.rmtree(self.root)

    # What changes the log otherwise.

    @rule()
    def roll(self) -> None:
        self.log.roll()
        assert self.bases[-1] == self.model.end

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.model.end

    @rule()
    def write_checkpoints(self) -> None:
        self.checkpoint = (self.log.recovery_point, self.log.log_start_offset)

    @rule(part=parts)
    def truncate(self, part: float) -> None:
        offset = self.model.end - int(part * min(20, self.model.end))
        base = self.bases[0]
        shorter = offset < self.model.end
        assert self.log.truncate_to(offset) == shorter
        if shorter and offset < base:
            self.model.empty(offset)
        elif shorter:
            self.model.truncate(offset)
            self.is_stable_offset_known = False
        self.compare_producers()
        self.checkpoint = (self.log.recovery_point, self.log.log_start_offset)

    @rule(distance=st.integers(-5, 10))
    def truncate_fully(self, distance: int) -> None:
        offset = max(self.model.end + distance, 0)
        self.log.truncate_fully_and_start_at(offset)
        self.model.empty(offset)
        self.compare_producers()
        self.checkpoint = (self.log.recovery_point, self.log.log_start_offset)

    @rule(part=parts)
    def move_high_watermark(self, part: float) -> None:
        # Where brokers have it: between two batches.
        firsts = [batch.first for batch in self.model.visible()[1:]]
        places = [self.model.start, *firsts, self.model.end]
        offset = places[int(part * (len(places) - 1))]
        self.model.high_watermark = self.log.update_high_watermark(offset)
        self.is_stable_offset_known = True
        assert self.model.high_watermark == offset

    @rule(part=parts)
    def delete_records(self, part: float) -> None:
        self.move_high_watermark(1)
        model = self.model
        offset = model.start + int(part * (model.high_watermark - model.start))
        assert self.log.delete_records(offset) == offset
        model.start = offset

    @rule()
    @precondition(lambda self: self.model.high_watermark < self.model.end)
    def delete_too_much(self) -> None:
        with pytest.raises(OffsetOutOfRangeError):
            self.log.delete_records(self.model.high_watermark + 1)

    @rule(ms=st.sampled_from([0, 3000, 6000, 12_000]), is_committed=st.booleans())
    def retain(self, ms: int, *, is_committed: bool) -> None:
        if is_committed:
            self.move_high_watermark(1)
        self.clock.advance(ms)
        model, bases = self.model, self.bases
        doomed = model.retain(self.clock.now(), RETENTION_MS, bases)
        self.log.delete_old_segments()
        left = bases[doomed:] or [model.end]
        assert self.bases == left
        if doomed:
            model.start = max(model.start, left[0])
            model.delete_before(left[0])

    @rule()
    def wait(self) -> None:
        self.clock.advance(2000)
        assert not list(self.root.glob("*/*.deleted"))

    # Stops.

    @rule()
    def reopen(self) -> None:
        self.log.flush(force_active_segment=True)
        self.log.close()
        self.checkpoint = (self.log.recovery_point, self.log.log_start_offset)
        self.log = self.open(clean=True)
        self.after_opening()

    @rule()
    def crash(self) -> None:
        self.log.close_handlers()
        self.log = self.open(clean=False)
        self.model.start = max(self.checkpoint[1], self.bases[0])
        self.after_opening()

    def after_opening(self) -> None:
        model = self.model
        self.is_stable_offset_known = True
        # A truncation within a batch took it whole; the offsets up to the end are free again.
        written_to = model.batches[-1].last + 1 if model.batches else self.bases[-1]
        assert written_to <= self.log.log_end_offset <= model.end
        model.end = self.log.log_end_offset
        model.high_watermark = model.start = min(model.start, model.end)
        model.rebuild()
        self.compare_producers()
        # Otherwise a truncation forgets timestamps of segments that nobody asked for, as Kafka's.
        self.log.offset_for_timestamp(MAX_TIMESTAMP)

    def compare_producers(self) -> None:
        """Forget what the log has forgotten: producers whose batches are before its start."""
        model, entries = self.model, self.log.producer_state.producers
        for producer_id, producer in list(model.producers.items()):
            entry, last = entries.get(producer_id), producer.last
            if entry is None or (last is not None and not entry.batches):
                assert last is None or last.last < model.start
                del model.producers[producer_id]
                continue
            if last is not None:
                assert entry.batches[-1].last_offset == last.last
                assert entry.batches[-1].last_sequence == last.sequence + len(last.records) - 1
            first = entry.current_transaction_first_offset
            if producer.transaction is None or producer.transaction >= model.start:
                assert first == producer.transaction
            producer.transaction = first
        writers = {batch.producer for batch in (*model.deleted, *model.batches)}
        assert set(entries) <= writers

    # What is asked.

    @property
    def bases(self) -> list[int]:
        return [segment.base_offset for segment in self.log.segments]

    @invariant()
    def offsets_are_those_of_the_list(self) -> None:
        log, model = self.log, self.model
        assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end)
        # One within a batch (where the log starts) moves to the batch when it is looked up.
        assert log.high_watermark in {model.high_watermark, model.place(model.high_watermark)}
        model.high_watermark = log.high_watermark
        known = model.last_stable_offsets()
        assert log.last_stable_offset in known or not self.is_stable_offset_known
        assert log.recovery_point <= model.end

    @rule(part=parts, max_bytes=st.sampled_from([1, 200, 1000]), isolation=isolations)
    def read(self, part: float, max_bytes: int, isolation: Any) -> None:
        model, log = self.model, self.log
        offset = model.start + int(part * (model.end - model.start))
        fetched = log.read(offset, max_bytes, isolation)
        limits = {
            "log_end": model.end,
            "high_watermark": log.high_watermark,
            "read_committed": log.last_stable_offset,
        }
        limit = limits[isolation]
        found = [(r.offset, r.timestamp, r.value) for r in fetched.records.records()]
        wanted = [batch for batch in model.batches if batch.last >= offset and batch.first < limit]
        if offset >= limit or not wanted:
            assert not found
            return
        records = [
            (record.offset, record.timestamp, None if batch.ends else record.value)
            for batch in wanted
            for record in batch.records
        ]
        count = len(found)
        assert count >= len(wanted[0].records)
        values = [(o, t, None if is_marker(records, o) else v) for o, t, v in found]
        assert values == records[:count]
        if isolation == "read_committed":
            self.compare_aborted(fetched.aborted_transactions or (), offset, found[-1][0])

    def compare_aborted(self, given: Any, offset: int, last: int) -> None:
        aborted = {(one.producer, one.last) for one in self.model.ended if one.is_aborted}
        wanted = {
            (one.producer, one.last)
            for one in self.model.ended
            if one.is_aborted and self.model.start <= one.first <= last and one.last >= offset
        }
        assert wanted <= {(one.producer_id, one.last_offset) for one in given} <= aborted

    @rule(max_bytes=st.sampled_from([200, 2000]))
    def consume_what_is_committed(self, max_bytes: int) -> None:
        self.move_high_watermark(1)
        log = self.log
        position, found = log.log_start_offset, list[int]()
        while position < log.last_stable_offset:
            fetched = log.read(position, max_bytes, "read_committed")
            aborted = fetched.aborted_transactions or ()
            rows = fetched.records.batches().rows
            if not len(rows):
                break
            for row in rows:
                first, producer = int(row["base_offset"]), int(row["producer_id"])
                if row["is_control"] or (
                    row["is_transactional"]
                    and any(
                        one.producer_id == producer and one.first_offset <= first < one.last_offset
                        for one in aborted
                    )
                ):
                    continue
                found += range(max(first, position), int(row["last_offset"]) + 1)
            position = int(rows[-1]["last_offset"]) + 1
        assert found == self.model.committed(log.last_stable_offset)

    @rule(ago=st.integers(-100, 8000))
    def look_up(self, ago: int) -> None:
        timestamp = self.clock.now() - ago
        found = self.log.offset_for_timestamp(timestamp)
        wanted = self.model.offset_for(timestamp, self.bases)
        if wanted is None:
            assert found is None
        else:
            assert found is not None
            assert (found.offset, found.timestamp) == (wanted.offset, wanted.timestamp)

    @rule()
    @precondition(lambda self: self.model.end > 20)
    def look_at_everything(self) -> None:
        found = assert_sound(self.log, is_loaded=False)
        visible = [batch for batch in found if batch.last_offset >= self.model.start]
        wanted = [(batch.first, batch.last) for batch in self.model.visible()]
        assert [(batch.first_offset, batch.last_offset) for batch in visible] == wanted


def is_marker(records: list[tuple[int, int, bytes | None]], offset: int) -> bool:
    """Return whether an offset is a marker's."""
    return any(o == offset and value is None for o, _, value in records)


LogMachine.TestCase.settings = settings(stateful_step_count=40)
TestLogMachine: Callable[..., Any] = LogMachine.TestCase
