"""Every write of the engine goes through here: to the disk, or to a dry copy that forgets it."""
