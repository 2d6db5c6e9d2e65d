"""Experiments from start to end: pause, fork, delete, retention and runs."""
