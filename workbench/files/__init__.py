"""One module for each kind of file on disk; none knows another, save names and text."""
