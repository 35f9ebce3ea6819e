"""Commands that say what a broker would do, or do it on a copy."""
