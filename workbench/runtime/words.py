"""Counts with the right word."""


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return the count with the right word: ``1 batch``, ``2 batches``.

    Args:
        count: how many.
        one: the word for one.
        many: the word for any other count; by default ``one`` with s or es.
    """
    if many is None:
        many = one + ("es" if one.endswith(("ch", "x", "s")) else "s")
    return f"{count:,} {one if count == 1 else many}"
