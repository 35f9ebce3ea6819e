"""One handler for each kind of request."""
