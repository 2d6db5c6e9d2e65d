"""File formats: importers of foreign formats, and the data files of runs.

An importer reports every problem of a file at once.
"""
