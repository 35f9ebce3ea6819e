"""Declared messages in the words of `Schemas.java`, which prints those of Kafka's classes."""

from workbench.record.message_schema import Field, Struct

NEWEST = "4.4.0"


def text_of(struct: Struct) -> str:
    """Return fields as `Schemas.java` prints them."""
    plain = [field for field in struct.fields if field.tag is None]
    parts = [f"{field.name.lower()}:{type_of(field)}" for field in plain]
    if struct.is_flexible:
        parts += [
            f"tag {tag} {field.name.lower()}:{type_of(field)}"
            for tag, field in sorted(struct.tagged.items())
        ]
        parts.append("~")
    return " ".join(parts)


def type_of(field: Field) -> str:
    if isinstance(field.type, Struct):
        text = f"{{{text_of(field.type)}}}"
    else:
        text = "boolean" if field.type == "bool" else field.type
    return f"{f'[{text}]' if field.is_array else text}{'?' if field.is_nullable else ''}"
