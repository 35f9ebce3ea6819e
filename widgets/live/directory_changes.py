"""What was written to followed directories since a view last showed them."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class DirectoryChanges:
    """Names of partitions, as in the listing.

    Attributes:
        changed: those with other files, or more in them; new and deleted ones.
        rewritten: those of which records that were known may be gone, or elsewhere: a segment was
            deleted or replaced, or the whole partition.
    """

    changed: frozenset[str] = frozenset()
    rewritten: frozenset[str] = frozenset()

    def __or__(self, later: "DirectoryChanges") -> "DirectoryChanges":
        """Return what both say."""
        return DirectoryChanges(self.changed | later.changed, self.rewritten | later.rewritten)

    @property
    def topics(self) -> frozenset[str]:
        """The topics of the changed partitions; a name in the listing may be a path."""
        return frozenset(os.path.basename(each).rpartition("-")[0] for each in self.changed)
