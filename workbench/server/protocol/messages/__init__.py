"""Requests and responses as mypy sees them; `make messages` writes it."""
