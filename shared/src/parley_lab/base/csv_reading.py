"""Python's readers of CSV, for cells of any length. Every module that reads CSV takes them from here.

Python refuses cells above 131,072 characters, and the limit is one of the process. A cell may hold a whole interview.
"""

import csv
from csv import DictReader, Error, reader

__all__ = ["DictReader", "Error", "reader"]

csv.field_size_limit(2**31 - 1)
