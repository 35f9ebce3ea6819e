"""One kind of request with its response, as Kafka declares both.

Kafka: ApiKeys, ApiMessageType (4.0)
"""

from dataclasses import dataclass
from functools import cached_property

from workbench.record.message_schema import Message, message


@dataclass(frozen=True)
class Api:
    """A kind of request.

    Attributes:
        name: as in Kafka, without "Request".
        key: the number in the header of a request.
        lowest, highest: the versions that are answered.
    """

    name: str
    key: int
    lowest: int
    highest: int

    @cached_property
    def request(self) -> Message:
        """The message of a request."""
        return message(f"{self.name}Request")

    @cached_property
    def response(self) -> Message:
        """The message of a response."""
        return message(f"{self.name}Response")

    def knows(self, version: int) -> bool:
        """Return whether a version is answered."""
        return self.lowest <= version <= self.highest

    def is_flexible(self, version: int) -> bool:
        """Return whether messages of this version have tagged fields."""
        return self.request.is_flexible(version)
