"""The kinds of steps that the coordinators report, with their meanings.

A load reports one `Step` for each record; what was written is replayed like what is loaded. The
numbers of a step name the record: ``at`` is its offset in the coordinator's log, ``time`` its
timestamp; group, topic, partition and offset are those of the record. The steps of the log are the
runtime's (`runtime.coordinator_runtime`), those of members the classic groups'
(`groups.classic.steps`).
"""

from typing import Final

from workbench.coordinator.runtime import coordinator_runtime

LOAD_KINDS: Final = {
    "load started": "the coordinator reads a partition from its log start offset",
    "offset loaded": "a commit enters the table of offsets",
    "commits loaded": "a run of commits enters the table of offsets",
    "offset pending": "a transactional commit waits for its transaction marker",
    "offset removed": "a tombstone removes a commit from the table of offsets",
    "pending offset removed": "a tombstone removes a transactional commit",
    "transaction committed": "a transaction marker commits a transaction and its offset commits",
    "transaction aborted": "a transaction marker aborts a transaction and drops its offset commits",
    "pending offset loaded": "a commit of a committed transaction enters the table of offsets",
    "pending offset dropped": "a commit of a transaction is dropped",
    "group loaded": "a record replaces the state of a group",
    "group changed": "a record changes a member, an epoch or an assignment of a group",
    "group removed": "a tombstone removes a group",
    "transactional id loaded": "a record replaces the state of a transactional id",
    "transactional id removed": "a tombstone removes a transactional id",
    "record ignored": "a record or transaction marker changes nothing",
    "record unreadable": "a broker's load fails at this record",
    "load finished": "the coordinator has read to the end of the partition",
}
"""Every kind of step of a load."""

OFFSET_KINDS: Final = {
    **coordinator_runtime.KINDS,
    **LOAD_KINDS,
    "commit validated": "the coordinator accepts a commit of a group",
    "commit refused": "the coordinator refuses a commit, or an offset in it",
    "offset expired": "an offset has expired; a tombstone will remove it",
    "offset kept": "an offset has not expired",
    "group expired": "an empty group has no offsets left; tombstones will remove it",
    "offset deleted": "a client or the deletion of a topic removes an offset",
    "group deleted": "a client removes a group",
}
"""Every kind of step of the offset manager: a commit is validated, appended, then loaded."""

TRANSACTION_KINDS: Final = {
    "request refused": "the coordinator answered a request with an error",
    "request repeated": "a request that was already served got the same answer again",
    "producer id given": "a producer got a producer id and an epoch",
    "transition prepared": "a transactional id is about to take its next state",
    "transition appended": "the record of a transactional id's next state was appended",
    "transition completed": "a transactional id took the state whose record was appended",
    "transition failed": "a transactional id kept its state because the record was not appended",
    "marker appended": "a transaction marker ended the transaction in a partition",
    "marker not needed": "a partition without a log or with an old format needs no marker",
    "marker retried": "a partition could not take its transaction marker, so it gets it later",
    "marker given up": "a newer epoch is known, so the coordinator stops ending the transaction",
    "transaction timed out": "a transaction was open for longer than its timeout",
    "transactional id expired": "a transactional id was not used for a long time",
    "partition loaded": "the coordinator serves the transactional ids of a partition",
    "partition unloaded": "the coordinator no longer serves the transactional ids of a partition",
}
"""Every kind of step of the transaction coordinator.

`Step.where` is the partition that the step is about, of `__transaction_state` or one that gets a
transaction marker.
"""
