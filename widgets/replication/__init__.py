"""How replicas fetch, commit, truncate and elect, moment by moment."""
