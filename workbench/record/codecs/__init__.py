"""Codecs and their framing as Kafka stores them."""
