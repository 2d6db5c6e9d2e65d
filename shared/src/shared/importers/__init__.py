"""Foreign formats that become experiments: a folder each, which names every problem of a file at once."""
