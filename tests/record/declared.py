"""Messages of tests, in the form of Kafka's files."""

from typing import Any

from workbench.record.message_schema import Message

Declared = dict[str, Any]


def field(
    name: str,
    kind: str,
    *fields: Declared,
    versions: str = "0+",
    nullable: bool = False,
    tag: int | None = None,
    default: object = None,
) -> Declared:
    """Return a field of a type; with fields, of a struct that has them."""
    made: Declared = {"name": name, "type": kind, "versions": versions}
    if fields:
        made["fields"] = list(fields)
    if nullable:
        made["nullableVersions"] = versions
    if tag is not None:
        made |= {"tag": tag, "taggedVersions": versions}
    return made if default is None else {**made, "default": default}


def declare(*fields: Declared, versions: str = "0", flexible: str = "0+") -> Message:
    """Return a message with the fields."""
    declared = {"validVersions": versions, "flexibleVersions": flexible, "fields": list(fields)}
    return Message("Everything", [declared])
