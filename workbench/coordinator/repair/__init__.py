"""What a repair of the coordinators' logs must contain: records, transaction markers, cleanings."""
