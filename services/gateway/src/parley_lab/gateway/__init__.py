"""HTTP in, live streams out, exports."""
