"""Fixtures for all tests."""

from tests.golden.conftest import golden

__all__ = ["golden"]
