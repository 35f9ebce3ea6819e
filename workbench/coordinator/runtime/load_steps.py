"""The steps that a load reports: one `Step` for each record, with the reason.

The numbers of a step name the record: ``at`` is its offset in the coordinator's log, ``time`` its
timestamp; group, topic, partition and offset are those of the record.
"""

from typing import Final

KINDS: Final = {
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
"""Every kind of step of a load and its meaning."""
