"""The output of commands: facts, records and bytes, as text or JSON lines."""
