"""What the engine runs on: a clock, scheduler, steps, failed directories, checkpoint files."""
