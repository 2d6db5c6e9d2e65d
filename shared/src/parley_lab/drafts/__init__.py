"""The work of agents: leases, what prompts are made of, calls, limits and keys."""
