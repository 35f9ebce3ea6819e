"""DescribeUserScramCredentialsResponse in version 0; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class CredentialInfo(TypedDict, total=False):
    """Kafka: DescribeUserScramCredentialsResponseData.CredentialInfo (4.3)."""

    mechanism: int
    iterations: int


class DescribeUserScramCredentialsResult(TypedDict, total=False):
    """Kafka: DescribeUserScramCredentialsResponseData.DescribeUserScramCredentialsResult (4.3)."""

    user: str
    errorCode: int
    errorMessage: str | None
    credentialInfos: Sequence[CredentialInfo]


class DescribeUserScramCredentialsResponse(TypedDict, total=False):
    """Kafka: DescribeUserScramCredentialsResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    results: Sequence[DescribeUserScramCredentialsResult]
