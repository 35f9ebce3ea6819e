"""What a server reports while it runs."""

from dataclasses import dataclass

from workbench.inspection.findings import Finding


@dataclass(frozen=True, slots=True)
class RequestDone:
    """A request that was answered, or that ended its connection.

    Attributes:
        client: host and port.
        client_id: as the client names itself; None: it does not.
        api, version: the request; None: it has no valid header.
        request_bytes, response_bytes: sizes of the frames.
        milliseconds: from its last byte to the first of the response.
        problem: why it was not answered; None: it was.
    """

    client: str
    client_id: str | None
    api: str | None
    version: int | None
    request_bytes: int
    response_bytes: int
    milliseconds: float
    problem: str | None = None


Event = RequestDone | Finding | str
"""A request; something on the disk that is left out; or a note in words."""
