"""The logs of log directories: lock, load in parallel, checkpoint, run the periodic tasks."""
