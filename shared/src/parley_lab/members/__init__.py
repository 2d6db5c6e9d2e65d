"""The state of a member: standing, stays, parts, alerts."""
