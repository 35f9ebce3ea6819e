"""LogExplorer: from log directories down to bytes, also while a broker writes."""
