"""The data files of an experiment: written from one snapshot, with bounded memory; for the API and the command line."""

from shared.exports.comparing import CLOCK_COLUMNS as CLOCK_COLUMNS
from shared.exports.comparing import ID_COLUMNS as ID_COLUMNS
from shared.exports.comparing import natural as natural
from shared.exports.comparing import without_ids_and_clocks as without_ids_and_clocks
from shared.exports.files import CSV_FILES as CSV_FILES
from shared.exports.files import EXPORT_VERSION as EXPORT_VERSION
from shared.exports.files import conversations as conversations
from shared.exports.files import export as export
from shared.exports.files import reports as reports
