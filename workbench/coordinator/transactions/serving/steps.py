"""The steps that a transaction coordinator reports: one `Step` for each decision and each write.

`Step.where` is the partition that the step is about, of `__transaction_state` or one that gets a
transaction marker.
"""

from typing import Final

KINDS: Final = {
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
"""Every kind of step of serving and its meaning."""
