"""The work of agents: leases, prompts, model calls, publishing."""
