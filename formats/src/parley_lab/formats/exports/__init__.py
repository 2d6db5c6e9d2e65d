"""The data files of an experiment, written from one snapshot with bounded memory; for the API and the command line."""

from parley_lab.formats.exports.charts import MOST_ROWS as MOST_ROWS
from parley_lab.formats.exports.charts import Chart as Chart
from parley_lab.formats.exports.charts import ChartHead as ChartHead
from parley_lab.formats.exports.charts import chart as chart
from parley_lab.formats.exports.charts import chart_heads as chart_heads
from parley_lab.formats.exports.comparing import CLOCK_COLUMNS as CLOCK_COLUMNS
from parley_lab.formats.exports.comparing import ID_COLUMNS as ID_COLUMNS
from parley_lab.formats.exports.comparing import natural as natural
from parley_lab.formats.exports.comparing import without_ids_and_clocks as without_ids_and_clocks
from parley_lab.formats.exports.files import CSV_FILES as CSV_FILES
from parley_lab.formats.exports.files import EXPORT_VERSION as EXPORT_VERSION
from parley_lab.formats.exports.files import LONG_TABLES as LONG_TABLES
from parley_lab.formats.exports.files import Written as Written
from parley_lab.formats.exports.files import conversations as conversations
from parley_lab.formats.exports.files import export as export
from parley_lab.formats.exports.files import reports as reports
from parley_lab.formats.exports.files import row_counts as row_counts
