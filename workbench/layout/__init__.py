"""What each byte means: dtypes, bits, magic numbers. Imports numpy and nothing of ours."""
