"""The data files of an experiment, written from one snapshot with bounded memory; for the API and the command line."""

from formats.exports.comparing import CLOCK_COLUMNS as CLOCK_COLUMNS
from formats.exports.comparing import ID_COLUMNS as ID_COLUMNS
from formats.exports.comparing import natural as natural
from formats.exports.comparing import without_ids_and_clocks as without_ids_and_clocks
from formats.exports.files import CSV_FILES as CSV_FILES
from formats.exports.files import EXPORT_VERSION as EXPORT_VERSION
from formats.exports.files import conversations as conversations
from formats.exports.files import export as export
from formats.exports.files import reports as reports
