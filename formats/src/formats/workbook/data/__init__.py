"""The data files of a workbook's experiment, made from data.json: in the format's own shape, and tidy."""

from formats.workbook.data.writing import write_data as write_data
