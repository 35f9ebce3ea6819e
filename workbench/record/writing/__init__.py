"""From records to bytes: builders, encodings, and the checks of an append."""
