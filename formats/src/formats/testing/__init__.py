"""Workbooks, and data of runs that never were, for tests."""
