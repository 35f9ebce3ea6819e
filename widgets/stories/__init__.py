"""The players of what is open, one at a time: the tab Steps."""
