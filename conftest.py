"""Fixtures and rules that hold for every test of every member."""

pytest_plugins = ["shared.testing.no_skips"]
