"""The group coordinator: it serves members, their groups and the offsets that they commit."""
