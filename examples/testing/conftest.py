"""Brings the fixture `lab`."""

pytest_plugins = ["parley.testing"]
