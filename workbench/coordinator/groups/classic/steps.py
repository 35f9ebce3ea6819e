"""The steps that the coordinator of classic groups reports: each decision, with its reason.

``where`` is the group's id. The numbers name the member and what the decision was made by.
"""

from typing import Any, Final

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.steps import LOAD_KINDS
from workbench.runtime.steps import Observer, Step

KINDS: Final = {
    "group created": "the first join of a group creates it",
    "group loaded": LOAD_KINDS["group loaded"],
    "group removed": LOAD_KINDS["group removed"],
    "request refused": "a request is answered with an error and changes nothing",
    "member id required": "a client gets a member id and must join again with it",
    "member added": "a member joins the group",
    "member rejoined": "a known member joins again",
    "member answered": "a request is answered from the state as it is",
    "static member replaced": "a static member comes back and gets a new member id",
    "static member restored": "a static member keeps its old id, because storing the group failed",
    "member removed": "a member leaves the group or is removed from it",
    "leader elected": "another member leads the group",
    "rebalance prepared": "the members must join again",
    "initial rebalance delayed": "an empty group waits for more members",
    "join phase waits": "the join phase cannot end yet",
    "generation formed": "the join phase ended: leader and protocol are chosen",
    "group emptied": "the join phase ended without members",
    "assignment received": "the leader brought the assignment, which is stored",
    "sync waits": "a member waits for the assignment",
    "group stable": "the group is stored, and every waiting member gets its assignment",
    "group not stored": "the append of a group's record failed",
    "session extended": "a member's session timeout starts again",
    "group deleted": "an empty group is deleted",
    "group unloaded": "the coordinator leaves the group's partition; waiting members are answered",
}
"""Every kind of step and its meaning."""


class Steps:
    """Reports steps to an observer, if there is one."""

    def __init__(self, observer: Observer | None) -> None:
        self._observer = observer

    def __call__(self, kind: str, group: ClassicGroup | str, reason: str, **numbers: Any) -> None:
        """Report a step about a group."""
        if self._observer is None:
            return
        where = group if isinstance(group, str) else group.group_id
        if isinstance(group, ClassicGroup):
            numbers = {"state": str(group.state), "generation": group.generation, **numbers}
        self._observer(Step(kind, where, reason, numbers))
