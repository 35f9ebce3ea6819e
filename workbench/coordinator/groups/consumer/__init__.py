"""Consumer groups of KIP-848: what a heartbeat changes, and the records that say so."""
