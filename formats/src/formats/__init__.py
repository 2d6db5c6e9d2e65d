"""File formats: foreign ones that become experiments, and the data files that runs become.

A format that is read names every problem of a file at once.
"""
