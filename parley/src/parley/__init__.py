"""The user's door to the lab: command line, Python client, embedded lab."""
