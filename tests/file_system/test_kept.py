"""The cache keeps what was used last: compared with a plain list."""

from random import Random

from workbench.file_system.kept import Kept


def test_what_was_used_last_is_kept_up_to_the_limit() -> None:
    rng = Random(5)
    kept: Kept[int, bytes] = Kept(50, len)
    model: list[tuple[int, bytes]] = []  # the last used is last
    for _ in range(5_000):
        key = rng.randrange(20)
        found = next((each for each in model if each[0] == key), None)
        if rng.random() < 0.5:
            assert kept.get(key) == (None if found is None else found[1])
            if found is not None:
                model.remove(found)
                model.append(found)
        else:
            if found is not None:
                model.remove(found)
            model.append((key, bytes(rng.choice((1, 5, 20, 60)))))
            kept.put(*model[-1])
            while sum(len(value) for _, value in model) > 50:
                del model[0]
        assert len(kept) == len(model)
    kept.clear()
    assert [kept.get(key) for key in range(20)] == [None] * 20
    kept.put(1, bytes(50))
    assert kept.get(1) == bytes(50)
