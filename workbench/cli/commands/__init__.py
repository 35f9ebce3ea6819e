"""One module for each command; `main` imports only the one that is called."""
