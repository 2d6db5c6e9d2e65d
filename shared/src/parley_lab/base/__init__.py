"""Errors, clock, seeds, logs, metrics, settings, show-if rules, variables and background loops."""
