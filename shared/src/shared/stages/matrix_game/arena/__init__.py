"""Measures of iterated games, from tables of rounds: pure, and the same for exports, reports and charts."""
