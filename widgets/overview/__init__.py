"""Overview: what log directories are, what is wrong, what fills the disk, and where to go next."""
