"""The file that a new study begins with."""

import json
from pathlib import Path
from typing import Final

from parley_lab.base.errors import InvalidInput
from parley_lab.design import json_schema

SCHEMA: Final = "parley-1.schema.json"
"""The schema that editors read, beside the file that names it."""

FIRST_FILE: Final = """\
parley: 1
name: Free night bus
seed: 7
stages:
  - { id: welcome, kind: info, lines: ["The council of Altmere wonders whether its night bus should cost nothing."] }
  - { id: talk, kind: group_chat, name: the night bus, description: Advise the council together. }
  - id: after
    kind: survey
    questions: [{ id: free, kind: scale, title: "Should the night bus be free?", lower: 1, upper: 7 }]
personas:
  - { id: ana, profile: { name: Ana }, text: You drive a taxi at night and fear for your income. }
  - { id: ben, profile: { name: Ben }, text: You work late shifts and have no car. }
cohorts:
  - seats: [{ persona: ana }, { persona: ben }]
"""


def write_first_file(path: Path) -> None:
    """Write the file, and beside it the schema of this version, which replaces that of another.

    Raises:
        InvalidInput: the file exists already, does not end in .yaml or .yml, or cannot be written.
    """
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise InvalidInput(f"{path} does not end in .yaml. For a workbook: parley workbook new FILE.xlsx")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"# yaml-language-server: $schema={SCHEMA}\n{FIRST_FILE}")
        schema = json.dumps(json_schema(), indent=2, ensure_ascii=False)
        path.with_name(SCHEMA).write_text(f"{schema}\n", encoding="utf-8")
    except FileExistsError as error:
        raise InvalidInput(f"{path} exists already. Choose another name, or move it away.") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from error
