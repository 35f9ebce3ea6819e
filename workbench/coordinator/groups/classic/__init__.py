"""Groups of the classic protocol as a coordinator serves them: joins, syncs, heartbeats, leaves."""
