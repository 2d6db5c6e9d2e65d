"""Measures of iterated games from tables of rounds, for exports, reports and charts. Pure."""
