"""Write workbench/server/protocol/messages: a class for each struct of each request and response.

They are made from Kafka's JSON files, as `workbench.record.message_schema` reads them. A message is
a dict by the names of its fields; the classes tell mypy which those are. A field of a request that
not each version has is not required. A field of a response that is not given has its default.
"""

import re
import shutil
from pathlib import Path

from workbench.record.message_schema import Field, Message, Struct
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_KEYS

PROJECT = Path(__file__).parent.parent
FOLDER = PROJECT / "workbench" / "server" / "protocol" / "messages"
MAKER = "`make messages` writes it"
TYPES = {"bool": "bool", "bytes": "bytes", "float64": "float", "records": "bytes", "string": "str",
         "uuid": "str"}  # fmt: skip


def module_name(message: Message) -> str:
    """Return ``list_offsets_request`` for ListOffsetsRequest."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", message.name).lower()


def module(api: Api, message: Message) -> str:
    """Return the source of a message's module."""
    is_request = message is api.request
    classes: dict[str, str] = {}
    structs = [message.struct(version) for version in range(api.lowest, api.highest + 1)]
    _add(classes, structs, is_request=is_request, data=f"{message.name}Data")
    body = "".join(f"\n\n{text}" for text in classes.values())
    names = ["TypedDict", *(["NotRequired"] if "NotRequired" in body else [])]
    imports = f"from typing import {', '.join(sorted(names))}\n"
    if "Sequence[" in body:
        imports = f"from collections.abc import Sequence\n{imports}"
    versions = f"{api.lowest} to {api.highest}" if api.highest > api.lowest else f"{api.lowest}"
    head = f'"""{message.name} in versions {versions}; {MAKER}."""\n\n'
    return f"{head}{imports}{body}"


def _add(classes: dict[str, str], versions: list[Struct], *, is_request: bool, data: str) -> None:
    """Add the class of a struct after those of the structs in it."""
    by_name: dict[str, list[Field]] = {}
    for struct in versions:
        for field in struct.fields:
            by_name.setdefault(field.name, []).append(field)
    lines = []
    for name, fields in by_name.items():
        inner = [each.type for each in fields if isinstance(each.type, Struct)]
        if inner:
            _add(classes, inner, is_request=is_request, data=data)
            kind = inner[0].name
        else:
            kind = TYPES.get(str(fields[0].type), "int")
        if fields[0].is_array:
            kind = f"{'list' if is_request else 'Sequence'}[{kind}]"
        if any(each.is_nullable for each in fields):
            kind = f"{kind} | None"
        if is_request and len(fields) < len(versions):
            kind = f"NotRequired[{kind}]"
        lines.append(f"    {name}: {kind}\n")
    struct_name = versions[0].name
    total = "" if is_request else ", total=False"
    kafka = data if data == f"{struct_name}Data" else f"{data}.{struct_name}"
    text = f'class {struct_name}(TypedDict{total}):\n    """Kafka: {kafka} (4.3)."""\n'
    classes.setdefault(struct_name, text + ("\n" if lines else "") + "".join(lines))


def modules() -> dict[str, str]:
    """Return the source of each module by the name of its file."""
    found = {"__init__.py": f'"""Requests and responses as mypy sees them; {MAKER}."""\n'}
    for api in API_KEYS.values():
        for message in (api.request, api.response):
            found[f"{module_name(message)}.py"] = module(api, message)
    return found


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name, text in modules().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(FOLDER.relative_to(PROJECT))
