"""Workbooks, and made-up data of their runs, for tests."""
