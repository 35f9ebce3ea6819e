"""The decoders by name, and which one reads a topic of Kafka's own."""

from typing import Final

from workbench.decoders.cluster_metadata import CLUSTER_METADATA
from workbench.decoders.consumer_offsets import CONSUMER_OFFSETS
from workbench.decoders.decoder import Decoder
from workbench.decoders.hex import HEX
from workbench.decoders.json import JSON
from workbench.decoders.mirror_maker import (
    MM2_CHECKPOINTS,
    MM2_HEARTBEATS,
    MM2_OFFSET_SYNCS,
    mirror_maker_decoder,
)
from workbench.decoders.remote_log_metadata import REMOTE_LOG_METADATA
from workbench.decoders.share_group_state import SHARE_GROUP_STATE
from workbench.decoders.transaction_state import TRANSACTION_STATE
from workbench.decoders.utf8 import UTF8

DECODERS: Final[dict[str, Decoder]] = {
    decoder.name: decoder
    for decoder in (
        UTF8,
        JSON,
        HEX,
        CONSUMER_OFFSETS,
        TRANSACTION_STATE,
        SHARE_GROUP_STATE,
        CLUSTER_METADATA,
        REMOTE_LOG_METADATA,
        MM2_CHECKPOINTS,
        MM2_OFFSET_SYNCS,
        MM2_HEARTBEATS,
    )
}
INTERNAL_TOPICS: Final[dict[str, Decoder]] = {
    f"__{decoder.name}": decoder
    for decoder in (
        CONSUMER_OFFSETS,
        TRANSACTION_STATE,
        SHARE_GROUP_STATE,
        CLUSTER_METADATA,
        REMOTE_LOG_METADATA,
    )
}


def decoder(name: str) -> Decoder:
    """Return the decoder with this name.

    Raises:
        LookupError: the name is unknown; the message lists the known ones.
    """
    try:
        return DECODERS[name]
    except KeyError:
        raise LookupError(
            f"unknown decoder {name!r} (expected one of {', '.join(sorted(DECODERS))})"
        ) from None


def decoder_for(topic: str) -> Decoder | None:
    """Return the decoder of a topic of Kafka or of MirrorMaker; None for any other topic."""
    return INTERNAL_TOPICS.get(topic) or mirror_maker_decoder(topic)
