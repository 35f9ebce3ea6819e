"""What a broker would do, from the engine itself: predicted, explained, rehearsed, or on a copy."""
