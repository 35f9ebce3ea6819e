"""Every write of the engine passes through here: to the disk, or to a dry copy in memory."""
