"""The code that all services share: contracts, stage kinds, storage, the bus."""
