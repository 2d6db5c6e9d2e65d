"""Fixtures, builders, fakes and faults for tests; imported by tests only."""
