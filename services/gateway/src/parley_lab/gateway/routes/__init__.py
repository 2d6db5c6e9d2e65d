"""The routes of the API; each calls functions of parley_lab.store inside one transaction."""
