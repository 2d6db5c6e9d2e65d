"""What every service of Parley shares: contracts, stage kinds, storage, the bus."""
