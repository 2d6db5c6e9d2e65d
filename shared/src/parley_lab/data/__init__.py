"""What exports and reports read."""
