"""The door to workbooks: read one, with every problem in it at once, and draw who is where in what order."""

from shared.importers.workbook.assignment import Assignment as Assignment
from shared.importers.workbook.assignment import Session as Session
from shared.importers.workbook.assignment import assign as assign
from shared.importers.workbook.compiling import Compiled as Compiled
from shared.importers.workbook.compiling import compile_designs as compile_designs
from shared.importers.workbook.compiling import compile_workbook as compile_workbook
from shared.importers.workbook.csv_tables import read_csv_tables as read_csv_tables
from shared.importers.workbook.design import Design as Design
from shared.importers.workbook.design import Workbook as Workbook
from shared.importers.workbook.draws import Draws as Draws
from shared.importers.workbook.estimating import SessionEstimate as SessionEstimate
from shared.importers.workbook.estimating import estimates as estimates
from shared.importers.workbook.reading import read as read
from shared.importers.workbook.template import template as template
from shared.importers.workbook.xlsx import read_xlsx as read_xlsx
