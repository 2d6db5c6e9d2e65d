"""Fixtures, builders, fakes and faults for tests; only tests import it."""
