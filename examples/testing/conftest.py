"""Brings the fixture `parley_lab`."""

pytest_plugins = ["parley.testing"]
