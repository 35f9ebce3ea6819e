from tests.engine.conftest import memory_path

__all__ = ["memory_path"]
