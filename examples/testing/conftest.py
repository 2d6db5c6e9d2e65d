"""Brings the fixture `lab`."""

pytest_plugins = ["parley_lab.cli.testing"]
