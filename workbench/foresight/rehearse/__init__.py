"""The engine at work on a dry copy, step by step, for players and plans."""
