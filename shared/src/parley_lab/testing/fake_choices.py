"""What a model answers in plain text where a question names its options."""

import re
from collections.abc import Mapping
from random import Random
from typing import Any, Final

_ONE_OF: Final = re.compile(r"(?:Answer with one of these|expected one of): (.+?)\.(?:\s|$)")
_FROM_TO: Final = re.compile(
    r"(?:Answer with|expected) a number from (-?[0-9]+(?:\.[0-9]+)?) to (-?[0-9]+(?:\.[0-9]+)?)"
)


def offered(request: Mapping[str, Any], rng: Random) -> str | None:
    """One of the options that the last message names last, as a model would write it; None without options."""
    messages = request["messages"]
    question = str(messages[-1].get("content", "")) if messages else ""
    found = [one for pattern in (_ONE_OF, _FROM_TO) for one in pattern.finditer(question)]
    if not found:
        return None
    last = max(found, key=lambda one: one.start())
    if last.re is _ONE_OF:
        return rng.choice(str(last[1]).split(", "))
    if "." in last[0]:
        return f"{rng.uniform(float(last[1]), float(last[2])):.2f}"
    return str(rng.randint(int(last[1]), int(last[2])))
