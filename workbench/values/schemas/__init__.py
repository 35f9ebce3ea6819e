"""Schemas by id, as schema registries keep them, and the values that name theirs."""
