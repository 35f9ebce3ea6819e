"""Records of Kafka's topics as mypy sees them; `make messages` writes it."""
