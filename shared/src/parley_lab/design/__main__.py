"""`python -m parley_lab.design` prints the JSON Schema of experiment files."""

import json
import sys

from parley_lab.design.document import json_schema

if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
