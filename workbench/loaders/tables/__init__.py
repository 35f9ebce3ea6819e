"""`logs.inspect` and explanations as Arrow tables."""
