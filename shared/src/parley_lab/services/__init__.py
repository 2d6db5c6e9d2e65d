"""A service as a process of its own."""
