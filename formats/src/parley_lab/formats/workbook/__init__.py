"""Workbooks: reads one, with all its problems at once, and draws seats, treatments and orders."""

from parley_lab.formats.workbook.assignment import Assignment as Assignment
from parley_lab.formats.workbook.assignment import WorkbookSession as WorkbookSession
from parley_lab.formats.workbook.assignment import assign as assign
from parley_lab.formats.workbook.compiling import Compiled as Compiled
from parley_lab.formats.workbook.compiling import compile_designs as compile_designs
from parley_lab.formats.workbook.compiling import compile_workbook as compile_workbook
from parley_lab.formats.workbook.csv_tables import read_csv_tables as read_csv_tables
from parley_lab.formats.workbook.csv_tables import warn_of_strays as warn_of_strays
from parley_lab.formats.workbook.design import Design as Design
from parley_lab.formats.workbook.design import Workbook as Workbook
from parley_lab.formats.workbook.draws import Draws as Draws
from parley_lab.formats.workbook.estimating import SessionEstimate as SessionEstimate
from parley_lab.formats.workbook.estimating import estimates as estimates
from parley_lab.formats.workbook.ods import read_ods as read_ods
from parley_lab.formats.workbook.reading import read as read
from parley_lab.formats.workbook.template import template as template
from parley_lab.formats.workbook.xlsx import read_xlsx as read_xlsx
