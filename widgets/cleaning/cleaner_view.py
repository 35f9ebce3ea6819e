"""CleanerView: a partition as the cleaner sees it."""

from typing import Any

import traitlets

import workbench
from widgets._link import link, style
from widgets._widget import KafkaWidget
from widgets._written import Written
from widgets.players._player import Place, directories_of, find_partition
from widgets.selection import NOTHING, from_front, to_front
from widgets.view.players.cleaner import (
    SegmentState,
    marker_rows,
    rule_rows,
    segment_rows,
    segment_states,
)
from widgets.view.text import time_text
from workbench.cleaner.schedule.log_to_clean import LogToClean, log_to_clean
from workbench.foresight.dry_listing import open_dry, time_or_now
from workbench.loaders.partition import Config
from workbench.loaders.tables.explain_partition import load_one
from workbench.loaders.tables.explanation import Explanation


class CleanerView(KafkaWidget):
    """Show what of a partition is clean and dirty, what bounds the cleaner, and what it waits for.

    Attributes:
        selected: the partition and segment, see `LogExplorer.selected`; with
            ``traitlets.link((view, "selected"), (explorer, "selected"))`` both follow each other.
        explanation: each rule's verdict; see `Partition.explain_cleaning`.
        to_clean: how dirty the log is.
        states: the log's segments.

    Args:
        partition: the partition, or the path of its directory.
        config, now, kafka: see `Partition.explain_cleaning`.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: the path is not a partition directory, or no broker would serve it.
        CorruptRecordError: the log is too damaged to find how dirty it is.

    Kafka: LogCleanerManager.cleanableOffsets, LogToClean (4.2)
    """

    _esm = link("compaction/cleaner_view.js")
    _css = style("compaction/cleaner.css")

    selected: Any = traitlets.Dict(NOTHING).tag(sync=True, to_json=to_front, from_json=from_front)
    _cleaning: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        partition: Place,
        config: Config = None,
        *,
        now: int | None = None,
        kafka: str | None = None,
        **options: Any,
    ) -> None:
        """Apply the cleaner's rules to the partition; see the class."""
        self.partition = find_partition(partition)
        super().__init__(**options)
        self.show(config, now=now, kafka=kafka)

    def show(
        self, config: Config = None, *, now: int | None = None, kafka: str | None = None
    ) -> None:
        """Apply the rules again: at another time, or under another configuration."""
        moment, partition = time_or_now(now), self.partition
        self._config, self._kafka = config, kafka
        with open_dry(directories_of(partition), config, moment, kafka, partition.fs) as dry:
            log = load_one(dry, partition)
            checkpoint = dry.cleaner_offsets.get(log.topic_partition)
            self.to_clean: LogToClean = log_to_clean(log, checkpoint, moment)
            threshold = log.config.min_cleanable_dirty_ratio
        self.explanation: Explanation = partition.explain_cleaning(config, now=moment, kafka=kafka)
        self.states: list[SegmentState] = segment_states(partition, self.to_clean)
        self._picture = None
        self._cleaning = {
            "partition": partition.name,
            "now": time_text(moment),
            "conclusion": self.explanation.conclusion,
            "segments": segment_rows(self.states, moment),
            "end_offset": str(partition.log_end_offset),
            "markers": marker_rows(self.to_clean, checkpoint),
            "clean_bytes": self.to_clean.clean_bytes,
            "cleanable_bytes": self.to_clean.cleanable_bytes,
            "uncleanable_bytes": self.to_clean.uncleanable_bytes,
            "ratio": self.to_clean.cleanable_ratio,
            "threshold": threshold,
            "rules": rule_rows(self.explanation),
        }

    def relist(self, logs: workbench.LogDirectory, written: Written) -> None:
        """Apply the rules again, under the same configuration, if the partition has changed."""
        key = next((key for key, each in logs.items() if each.path == self.partition.path), None)
        if key is not None and key in written.changed:
            self.partition = find_partition(logs[key])
            self.show(self._config, kafka=self._kafka)

    def inputs(self) -> list[str]:
        """Return the path of the partition's directory."""
        return [self.partition.path]

    def describe(self) -> str:
        """Return the partition and the rules' conclusion."""
        return f"CleanerView: {self.partition.name}: {self.explanation.conclusion}"

    def to_png(self) -> bytes:
        """Draw the segments in their regions and the rules' verdicts. Imports matplotlib."""
        if self._picture is None:
            from widgets.cleaning.cleaner_picture import cleaner_picture

            self._picture = cleaner_picture(self._cleaning)
        return self._picture
