"""The routes of the API; each calls functions of shared.db inside one transaction."""
