"""What a broker does with log directories when it starts."""
