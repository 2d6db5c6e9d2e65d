"""Workbooks: reads one, with all its problems at once, and draws seats, treatments and orders."""

from formats.workbook.assignment import Assignment as Assignment
from formats.workbook.assignment import WorkbookSession as WorkbookSession
from formats.workbook.assignment import assign as assign
from formats.workbook.compiling import Compiled as Compiled
from formats.workbook.compiling import compile_designs as compile_designs
from formats.workbook.compiling import compile_workbook as compile_workbook
from formats.workbook.csv_tables import read_csv_tables as read_csv_tables
from formats.workbook.design import Design as Design
from formats.workbook.design import Workbook as Workbook
from formats.workbook.draws import Draws as Draws
from formats.workbook.estimating import SessionEstimate as SessionEstimate
from formats.workbook.estimating import estimates as estimates
from formats.workbook.ods import read_ods as read_ods
from formats.workbook.reading import read as read
from formats.workbook.template import template as template
from formats.workbook.xlsx import read_xlsx as read_xlsx
