"""Formats of values other than Avro: text, JSON, Protobuf, MessagePack, Kafka's own records."""
