"""One module per command, so more than fifteen: `main` imports only the one that is called."""
