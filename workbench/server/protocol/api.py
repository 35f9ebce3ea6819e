"""One kind of request with its response, as both are declared in the modules of this room.

Kafka: ApiKeys, ApiMessageType (4.0)
"""

from dataclasses import dataclass

from workbench.record.message_schema import Message, declare


@dataclass(frozen=True, slots=True)
class Api:
    """A kind of request.

    Attributes:
        name: as in Kafka, without "Request".
        key: the number in the header of a request.
        lowest, highest: the versions that are answered.
        request, response: the messages.
    """

    name: str
    key: int
    lowest: int
    highest: int
    request: Message
    response: Message

    def knows(self, version: int) -> bool:
        """Return whether a version is answered."""
        return self.lowest <= version <= self.highest

    def is_flexible(self, version: int) -> bool:
        """Return whether messages of this version have tagged fields."""
        return self.request.flexible is not None and version >= self.request.flexible


def api(
    name: str,
    key: int,
    *,
    versions: tuple[int, int],
    flexible: int | None,
    request: str,
    response: str,
) -> Api:
    """Return an api; the texts are in the notation of `record.message_schema`."""
    lowest, highest = versions
    return Api(
        name,
        key,
        lowest,
        highest,
        declare(f"{name}Request", request, highest=highest, flexible=flexible),
        declare(f"{name}Response", response, highest=highest, flexible=flexible),
    )
