"""Commands that show, search and export what is on the disk."""
