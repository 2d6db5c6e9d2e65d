"""Joining, links, cohorts made on arrival, waiting rooms, presence, transfers and staff."""
