"""Small changes to rules of the lab, each of which a test must notice: `make mutants`."""
