"""Write the classes with which mypy checks messages: a class for each struct.

They are made from Kafka's JSON files, as `workbench.record.message_schema` reads them. A message is
a dict by the names of its fields. A field that not each version has, or that is tagged, need not be
there. A field of a response that is not given has its default.
"""

import re
from pathlib import Path

from workbench.decoders.cluster_metadata import MESSAGES
from workbench.record.control import MESSAGES as CONTROL_MESSAGES
from workbench.record.message_schema import Field, Message, Struct, message
from workbench.server.protocol.api_keys import API_KEYS

PROJECT = Path(__file__).parent.parent
PROTOCOL = PROJECT / "workbench" / "server" / "protocol"
MADE = {
    PROTOCOL / "requests.py": "Requests of clients",
    PROTOCOL / "responses.py": "Responses to clients",
    PROJECT / "workbench" / "decoders" / "records.py": "Records of Kafka's topics",
}
"""Each module, and what is in it."""

KAFKA = "4.3"
"""The newest Kafka whose messages are in `workbench/record/messages`."""

TYPES = {"bool": "bool", "bytes": "bytes", "float64": "float", "records": "bytes", "string": "str",
         "uuid": "str"}  # fmt: skip


def class_name(message: Message, struct: str) -> str:
    """Return FetchRequestData for FetchRequest as Kafka does, FetchRequestTopic for FetchTopic."""
    kind = re.search(r"(Request|Response)?$", message.name)[0]  # type: ignore[index]
    if struct == message.name:
        return f"{struct}Data" if kind else struct
    stem = message.name.removesuffix(kind)
    inner = re.sub(rf"^({stem})+(?=[A-Z])", "", struct.removeprefix(message.name) or struct)
    return message.name + (inner.removesuffix(kind) or inner)


def classes(of: Message, lowest: int, highest: int) -> str:
    """Return the source of a message's classes: those of the structs in it, then its own."""
    found: dict[str, str] = {}
    shown = f"versions {lowest} to {highest}" if highest > lowest else f"version {lowest}"
    _add(found, [of.struct(version) for version in range(lowest, highest + 1)], of, shown)
    return "".join(f"\n\n{text}" for text in found.values())


def _add(classes: dict[str, str], versions: list[Struct], message: Message, shown: str) -> None:
    """Add the class of a struct after those of the structs in it."""
    is_response = message.name.endswith("Response")
    by_name: dict[str, list[Field]] = {}
    for struct in versions:
        for field in struct.fields:
            by_name.setdefault(field.name, []).append(field)
    lines = []
    for name, fields in by_name.items():
        inner = [each.type for each in fields if isinstance(each.type, Struct)]
        if inner:
            _add(classes, inner, message, shown)
            kind = class_name(message, inner[0].name)
        else:
            kind = TYPES.get(str(fields[0].type), "int")
        if fields[0].is_array:
            kind = f"{'Sequence' if is_response else 'list'}[{kind}]"
        if any(each.is_nullable for each in fields):
            kind = f"{kind} | None"
        is_always_there = len(fields) == len(versions) and fields[0].tag is None
        if not (is_response or is_always_there):
            kind = f"NotRequired[{kind}]"
        lines.append(f"    {name}: {kind}\n")
    own, total = versions[0].name, ", total=False" if is_response else ""
    kafka = class_name(message, message.name)
    origin = f"{kafka} ({KAFKA}), {shown}" if own == message.name else f"{kafka}.{own} ({KAFKA})"
    head = f'class {class_name(message, own)}(TypedDict{total}):\n    """Kafka: {origin}."""\n'
    classes.setdefault(own, head + ("\n" if lines else "") + "".join(lines))


def modules() -> dict[Path, str]:
    """Return the source of each module by its path."""
    apis = API_KEYS.values()
    stored = (message("OffsetCommitValue"), message("TransactionLogValue"))
    records = (*MESSAGES.values(), *CONTROL_MESSAGES.values(), *stored)
    texts = (
        [classes(each.request, each.lowest, each.highest) for each in apis],
        [classes(each.response, each.lowest, each.highest) for each in apis],
        [classes(each, each.lowest, each.highest) for each in records],
    )
    return {
        path: _module(MADE[path], "".join(each)) for path, each in zip(MADE, texts, strict=True)
    }


def _module(subject: str, body: str) -> str:
    names = ["TypedDict", *(["NotRequired"] if "NotRequired" in body else [])]
    imports = f"from typing import {', '.join(sorted(names))}\n"
    if "Sequence[" in body:
        imports = f"from collections.abc import Sequence\n{imports}"
    return f'"""{subject} as mypy sees them; `make messages` writes it."""\n\n{imports}{body}'


if __name__ == "__main__":
    for path, text in modules().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(PROJECT))
