"""What `doctor` checks: this installation, and the executors of a cluster."""
