"""Declared messages in the words of `Schemas.java`, which prints those of Kafka's classes."""

from workbench.record.message_schema import Field

NEWEST = "4.3.1"


def text_of(fields: tuple[Field, ...], version: int, *, flexible: bool) -> str:
    """Return fields as `Schemas.java` prints them."""
    there = [field for field in fields if field.first <= version <= field.last]
    plain = [field for field in there if field.tag is None or not flexible]
    parts = [
        f"{field.name.lower()}:{type_of(field, version, flexible=flexible)}" for field in plain
    ]
    if flexible:
        tagged = sorted((field.tag, field) for field in there if field.tag is not None)
        parts += [
            f"tag {tag} {field.name.lower()}:{type_of(field, version, flexible=flexible)}"
            for tag, field in tagged
        ]
        parts.append("~")
    return " ".join(parts)


def type_of(field: Field, version: int, *, flexible: bool) -> str:
    if isinstance(field.type, tuple):
        text = f"{{{text_of(field.type, version, flexible=flexible)}}}"
    else:
        text = "boolean" if field.type == "bool" else field.type
    return f"{f'[{text}]' if field.is_array else text}{'?' if field.is_nullable else ''}"
