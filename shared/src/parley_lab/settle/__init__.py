"""What settling a cohort reads and writes; the rules and the loop are the orchestrator's."""
