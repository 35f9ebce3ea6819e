"""Write the classes with which mypy checks messages: a module for each, a class for each struct.

They are made from Kafka's JSON files, as `workbench.record.message_schema` reads them. A message is
a dict by the names of its fields. A field that not each version has, or that is tagged, need not be
there. A field of a response that is not given has its default.
"""

import re
import shutil
from pathlib import Path

from workbench.decoders.cluster_metadata import MESSAGES
from workbench.record.control import MESSAGES as CONTROL_MESSAGES
from workbench.record.message_schema import Field, Message, Struct, message
from workbench.server.protocol.api_keys import API_KEYS

PROJECT = Path(__file__).parent.parent
REQUESTS = PROJECT / "workbench" / "server" / "protocol" / "messages"
RECORDS = PROJECT / "workbench" / "decoders" / "records"
MAKER = "`make messages` writes it"
TYPES = {"bool": "bool", "bytes": "bytes", "float64": "float", "records": "bytes", "string": "str",
         "uuid": "str"}  # fmt: skip


def file_name(of: Message) -> str:
    """Return ``list_offsets_request.py`` for ListOffsetsRequest."""
    return re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", of.name).lower() + ".py"


def module(of: Message, lowest: int, highest: int) -> str:
    """Return the source of a message's module."""
    classes: dict[str, str] = {}
    versions = range(lowest, highest + 1)
    kafka = f"{of.name}Data" if of.name.endswith(("Request", "Response")) else of.name
    _add(classes, [of.struct(version) for version in versions], message=of, kafka=kafka)
    body = "".join(f"\n\n{text}" for text in classes.values())
    names = ["TypedDict", *(["NotRequired"] if "NotRequired" in body else [])]
    imports = f"from typing import {', '.join(sorted(names))}\n"
    if "Sequence[" in body:
        imports = f"from collections.abc import Sequence\n{imports}"
    shown = f"versions {lowest} to {highest}" if highest > lowest else f"version {lowest}"
    return f'"""{of.name} in {shown}; {MAKER}."""\n\n{imports}{body}'


def _add(classes: dict[str, str], versions: list[Struct], *, message: Message, kafka: str) -> None:
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
            _add(classes, inner, message=message, kafka=kafka)
            kind = inner[0].name
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
    own_name = versions[0].name
    total = ", total=False" if is_response else ""
    origin = kafka if own_name == message.name else f"{kafka}.{own_name}"
    text = f'class {own_name}(TypedDict{total}):\n    """Kafka: {origin} (4.3)."""\n'
    classes.setdefault(own_name, text + ("\n" if lines else "") + "".join(lines))


def modules() -> dict[Path, str]:
    """Return the source of each module by its path."""
    found = {
        REQUESTS / "__init__.py": f'"""Requests and responses as mypy sees them; {MAKER}."""\n',
        RECORDS / "__init__.py": f'"""Records of Kafka\'s topics as mypy sees them; {MAKER}."""\n',
    }
    for api in API_KEYS.values():
        for each in (api.request, api.response):
            found[REQUESTS / file_name(each)] = module(each, api.lowest, api.highest)
    stored = (message("OffsetCommitValue"), message("TransactionLogValue"))
    for each in (*MESSAGES.values(), *CONTROL_MESSAGES.values(), *stored):
        found[RECORDS / file_name(each)] = module(each, each.lowest, each.highest)
    return found


if __name__ == "__main__":
    for folder in (REQUESTS, RECORDS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        print(folder.relative_to(PROJECT))
    for path, text in modules().items():
        path.write_text(text, encoding="utf-8")
