"""What an experiment file says about a table of personas in a file of its own."""

from typing import Any

from pydantic import Field

from parley_lab.contracts.experiment import Document


class PersonasFrom(Document):
    """A table of personas in a file of its own, beside the experiment file."""

    file: str = Field(min_length=1)
    """A table with a header, in the folder of the experiment file or below: CSV, .xlsx or .ods. Each row is a
    persona."""
    sheet: str | None = None
    """The sheet of a spreadsheet; left out: the first one."""
    encoding: str | None = None
    """The encoding of a CSV file, such as `windows-1251`; left out: UTF-8, UTF-16 or Windows-1252."""
    columns: dict[str, str] = Field(default={})
    """Short names for columns, by which texts may call them: `age: "(067) How old were you?"`."""
    numbers: tuple[str, ...] = ()
    """Columns of a CSV file whose cells are numbers, and attributes of that type."""
    templates: tuple[str, ...] = ()
    """Columns whose cells are texts with `{{variables}}`; all others are taken as they are."""
    arm: str | None = None
    """The column that names the treatment of the seat which a row gets by `each_row`."""
    each: dict[str, Any] = Field(default={})
    """Fields of all personas in the table; `{{column}}` is replaced by the row's cell."""
