"""Asks, answers, partial answers, and going on from a stage."""
