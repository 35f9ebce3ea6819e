"""The steps that the offset manager reports, each with its reason.

Those of the records themselves are the load's (`runtime.load_steps`), because what was written is
replayed like what is loaded; those of the log are the runtime's (`runtime.coordinator_runtime`). A
commit is "commit validated", "records appended", "offset loaded".
"""

from typing import Final

from workbench.coordinator.runtime import coordinator_runtime, load_steps

KINDS: Final = {
    **coordinator_runtime.KINDS,
    **load_steps.KINDS,
    "commit validated": "the coordinator accepts a commit of a group",
    "commit refused": "the coordinator refuses a commit, or an offset in it",
    "offset expired": "an offset has expired; a tombstone will remove it",
    "offset kept": "an offset has not expired",
    "group expired": "an empty group has no offsets left; tombstones will remove it",
    "offset deleted": "a client or the deletion of a topic removes an offset",
    "group deleted": "a client removes a group",
}
"""Every kind of step and its meaning."""
