"""Settles cohorts: unlocks, draws, asks, timers, ends. Never calls a model."""
