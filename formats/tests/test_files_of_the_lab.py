"""No kind of stage may take the name of a file that the export itself writes."""

import inspect
import re

from parley_lab.formats.exports import files
from parley_lab.kinds.data import FILES_OF_THE_LAB


def test_the_names_of_the_files_of_the_lab_are_known_to_kinds() -> None:
    written = re.findall(r'"(\w+)\.csv"', inspect.getsource(files))

    assert set(written) == FILES_OF_THE_LAB
