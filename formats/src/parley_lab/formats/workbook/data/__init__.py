"""The data files of a workbook's experiment, made from data.json: in the format's nested form, and as tidy tables."""

from parley_lab.formats.workbook.data.writing import write_data as write_data
