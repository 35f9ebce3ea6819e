"""A topic of an opened log directory: its partitions by number."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.inspection.facts.html import table_html
from workbench.inspection.listing import Listing
from workbench.loaders.log_scope import LogScope
from workbench.loaders.partition import Partition
from workbench.runtime.words import plural, safe


class Topic(LogScope, Mapping[int, Partition]):
    """Partitions by number: ``logs["orders"][0]``; `scan` reads all of them.

    Attributes:
        name: of the topic.
    """

    def __init__(self, name: str, listing: Listing, partitions: Mapping[int, Partition]) -> None:
        self.name = name
        self._listing = listing
        self._partitions = partitions

    def __getitem__(self, partition: int) -> Partition:
        found = self._partitions.get(partition)
        if found is None:
            numbers = ", ".join(map(str, self._partitions))
            raise KeyError(f"{self.name} has no partition {partition!r} (there are {numbers})")
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __repr__(self) -> str:
        return safe(f"<Topic {self.name}: {plural(len(self), 'partition')}, {self.size:,} bytes>")

    @property
    def partitions(self) -> list[Partition]:
        """The partitions, by number."""
        return list(self._partitions.values())

    @property
    def size(self) -> int:
        """Bytes of the `.log` files in use."""
        return sum(partition.size for partition in self._partitions.values())

    @property
    def topic_name(self) -> str:
        """The name of the topic."""
        return self.name

    @property
    def _listed(self) -> Listing:
        return self._listing

    @property
    def _chosen(self) -> dict[str, Any]:
        return {"topics": self.name}

    def _repr_html_(self) -> str:
        cells = [
            [p.partition, len(p.segments), p.size, p.log_start_offset, p.log_end_offset]
            for p in self.partitions[:_SHOWN]
        ]
        columns = ["partition", "segments", "bytes", "log start", "log end"]
        left = len(self) - len(cells)
        note = f"{left} more partitions" if left else None
        return table_html(f"{self.name}: {self.size:,} bytes", columns, cells, note)


_SHOWN = 40  # rows of the table in a notebook
