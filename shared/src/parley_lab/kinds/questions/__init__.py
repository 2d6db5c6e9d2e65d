"""Questions, and pages that are made of them: what the kinds that ask some have in common."""
