"""CompactionPlayer: go through a cleaning of a log, on a copy that is never written."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from widgets._assets import script
from widgets._file import PAGE_ROWS, Answer
from widgets.players._player import (
    Place,
    Player,
    directories_of,
    find_partition,
    made_by,
    poster_of,
)
from widgets.view.key_names import KeyNames
from widgets.view.players.compaction import Layout, Touched, layout_of, round_of, sent, touched_by
from widgets.view.players.compaction_records import (
    batches_of,
    offsets_of,
    record_count,
    record_rows,
)
from widgets.view.players.steps import MOST_STEPS
from widgets.view.records import AnyMask, Lens
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.decisions import Reason
from workbench.foresight.dry_listing import open_dry, round_times
from workbench.foresight.rehearse.cleaning import CleaningRehearsal, Detail, rehearse_cleaning
from workbench.loaders.explanations.explain_partition import load_one
from workbench.loaders.partition import Config
from workbench.runtime.words import plural, size_text

MOST_ROWS = 1000
"""The front end gets no rows if it asks for more than this."""

BATCH_VERDICTS = frozenset({"batch copied", "batch rebuilt", "batch emptied", "batch removed"})


class CompactionPlayer(Player):
    """Clean a log as a broker's cleaner does, step by step, with a reason for each record.

    Attributes:
        rehearsal: the cleaning, done on a copy: the directory is unchanged.

    Args:
        partition: the partition, or the path of its directory.
        config, now, passes, everything, kafka: see `Partition.plan_cleaning`.
        cleaner: the cleaner's memory and buffers; None takes the broker's configuration.
        detail: "records", "batches" or "segments": what each step is about; None chooses by the
            log's size.
        show_values: whether to show keys; otherwise they are numbered.
        mask: a function applied to keys before they are shown, or rules of a mask.
        at: the first step to show; by default the one at which the first segment is cleaned.

    Raises:
        ValueError: there are no rounds, or a round is earlier than the one before it.
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: the path is not a partition directory, or no broker would serve it.

    Kafka: Cleaner.doClean (4.2)
    """

    _esm = script("compaction/compaction.js")

    def __init__(
        self,
        partition: Place,
        config: Config = None,
        *,
        now: int | Sequence[int] | None = None,
        passes: int = 1,
        everything: bool = False,
        kafka: str | None = None,
        cleaner: CleanerConfig | None = None,
        detail: Detail | None = None,
        show_values: bool = False,
        mask: AnyMask = None,
        at: int | None = None,
        **options: Any,
    ) -> None:
        """Let the engine clean the log; see the class."""
        place = self.partition = find_partition(
            partition, type(self).__name__, is_compacted=True, config=config
        )
        super().__init__(_title=f"Clean {place.name}", **options)
        times = round_times(now, passes)
        with open_dry(directories_of(place), config, times[0], kafka, place.fs) as dry:
            log = load_one(dry, place)
            if not dry.is_compacted(log.topic_partition):
                self._title = f"If it were compacted: clean {place.name}"
            self.rehearsal = rehearse_cleaning(
                log,
                dry.cleaner_offsets.get(log.topic_partition),
                times,
                dry.clock,
                cleaner or CleanerConfig.of(dry.settings.broker),
                everything=everything,
                detail=detail,
            )
        self.lens = Lens(show_values=show_values or mask is not None, mask=mask)
        self.steps = tuple(self.rehearsal.steps[:MOST_STEPS])
        self.names = KeyNames(self.rehearsal.keys, self.lens)
        rounds = self.rehearsal.rounds
        self.layouts: tuple[Layout, ...] = tuple(layout_of(each) for each in rounds)
        self.touches: tuple[Touched, ...] = tuple(
            touched_by(step, self.layouts[round_of(rounds, number)])
            for number, step in enumerate(self.steps)
        )
        with self.hold_sync():
            self._about = _result(self.rehearsal)
            self._code = self._made_by(
                config, now=times, everything=everything, kafka=kafka, detail=detail
            )
            self._played = sent(self.rehearsal, self.layouts, self.touches, self.names)
            self.at = poster_of(self.steps) if at is None else at

    def _made_by(self, config: Config, **given: Any) -> str:
        named = [f"{name}={value!r}" for name, value in given.items() if value]
        configured = [repr(dict(config))] if config else []
        return made_by("CompactionPlayer", json.dumps(self.partition.path), *configured, *named)

    def why(self, offset: int) -> list[Reason | None]:
        """Return why each round kept or dropped the record at an offset.

        None stands for a round that did not reach the record, or no longer found it.
        """
        found: list[Reason | None] = []
        for each in self.rehearsal.rounds:
            decisions = None if each.cleaning is None else each.cleaning.decisions
            is_there = decisions is not None and offset in decisions.offsets
            found.append(decisions.reason_of(offset) if decisions and is_there else None)
        return found

    def go_to(self, target: int | bytes) -> None:
        """Show the step that decides on an offset, or on the next record of a key.

        Raises:
            LookupError: no step, after the step shown or before it, decides about the target.
        """
        order = [*range(self.at + 1, len(self.steps)), *range(self.at + 1)]
        for at in order:
            if self.steps[at].kind in {"record kept", "record dropped"} and self._is(at, target):
                self.at = at
                return
        raise LookupError(f"no decision for {target!r}")

    def _is(self, at: int, target: int | bytes) -> bool:
        records = self.layouts[round_of(self.rehearsal.rounds, at)].round.records
        record = self.touches[at].record
        if records is None or record < 0:
            return False
        if isinstance(target, int):
            return bool(records.offsets[record] == target)
        key = int(records.keys[record])
        return key >= 0 and self.rehearsal.keys[key] == target

    # Answers to the front end, where steps are not about single records.

    def answer_records(self, round_number: int, batch: int, start: int, stop: int) -> Answer:
        """Return rows [start, stop) of a batch's records: offset, key, whether kept, and why."""
        if not 0 <= start < stop <= start + MOST_ROWS:
            return {"rows": [], "count": 0}, []
        cleaning = self.rehearsal.rounds[round_number].cleaning
        if cleaning is None:
            return {"rows": [], "count": 0}, []
        rows = record_rows(cleaning.decisions, batch, start, stop, self.partition, self.lens)
        return {"rows": rows, "count": record_count(cleaning.decisions, batch)}, []

    def inputs(self) -> list[str]:
        """Return the path of the partition's directory."""
        return [self.partition.path]

    def foreseen_answers(self) -> Iterable[tuple[str, dict[str, Any], Answer]]:
        """Yield those about the records of each batch, page by page."""
        for number, round_ in enumerate(self.rehearsal.rounds):
            if round_.cleaning is None:
                continue
            decisions = round_.cleaning.decisions
            for batch in np.unique(decisions.batch).tolist():
                for start in range(0, record_count(decisions, batch), PAGE_ROWS):
                    page = {"round_number": number, "batch": batch}
                    page |= {"start": start, "stop": start + PAGE_ROWS}
                    yield "records", page, self.answer_records(**page)

    def answer_find(self, text: str, at: int) -> Answer:
        """Return the next step about a key or an offset after ``at``, and its batch."""
        wanted = text.strip()
        digits = wanted.replace(",", "")
        offsets = offsets_of(self.partition, wanted.encode())
        offsets += [int(digits)] if digits.isdigit() and not offsets else []
        places = [
            (step, batch)
            for number, layout in enumerate(self.layouts)
            for batch in batches_of(layout, offsets)
            for step in [self._step_about(number, batch)]
            if step >= 0
        ]
        later = [place for place in places if place[0] > at]
        step, batch = min(later or places, default=(-1, -1))
        return {"step": step, "batch": batch}, []

    def _step_about(self, round_number: int, batch: int) -> int:
        """Return the step that decides on a batch, or cleans its segment; -1 without one."""
        layout = self.layouts[round_number]
        segment = int(np.searchsorted(layout.first_batches, batch, "right")) - 1
        for at in range(layout.round.first_step, len(self.steps)):
            touch = self.touches[at]
            if touch.batch == batch and self.steps[at].kind in BATCH_VERDICTS:
                return at
            if touch.segment == segment and self.steps[at].kind == "segment cleaned":
                return at
        return -1

    def to_png(self) -> bytes:
        """Draw the step shown and the records' states so far as a PNG. Imports matplotlib."""
        if self._picture is None:
            from widgets.cleaning.compaction_picture import compaction_picture

            self._picture = compaction_picture(self)
        return self._picture


def _result(rehearsal: CleaningRehearsal) -> str:
    """Describe the result in a few words."""
    if rehearsal.error is not None:
        return str(rehearsal.error)
    done = [each.cleaning.stats for each in rehearsal.rounds if each.cleaning is not None]
    if not done:
        return "nothing can be cleaned"
    before = sum(segment.size for segment in rehearsal.rounds[0].segments)
    after = before - sum(each.bytes_read - each.bytes_written for each in done)
    rounds = "" if len(rehearsal.rounds) == 1 else f" in {plural(len(done), 'round')}"
    return (
        f"{size_text(before)} become {size_text(after)}{rounds}; "
        f"clean up to offset {done[-1].end_offset:,}"
    )
