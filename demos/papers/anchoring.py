"""The anchoring index of each item: how far estimates move with the anchor, as a part of the distance of both."""

import csv
import sys
from pathlib import Path
from statistics import mean

PUBLISHED = {"redwood": 0.55}
"""Means of 282 and 844 feet: Kahneman, Thinking, Fast and Slow (2011), chapter 11."""


def computed(folder: Path) -> dict[str, float]:
    """The index of each item, from the data in this folder."""
    with (folder / "rows.csv").open() as rows, (folder / "answers.csv").open() as answers:
        items = list(csv.DictReader(rows))
        guesses = [one for one in csv.DictReader(answers) if one["field"].endswith(".guess") and one["value"]]
    index = {}
    for item in items:
        mine = [one for one in guesses if one["row"] == item["row"]]
        low, high = (mean(float(one["value"]) for one in mine if one["level.anchor"] == of) for of in ("low", "high"))
        index[item["row"]] = (high - low) / (float(item["high"]) - float(item["low"]))
    return index


if __name__ == "__main__":
    for name, value in computed(Path(sys.argv[1])).items():
        print(f"{name}: {value:.2f}, published: {PUBLISHED.get(name, 'none')}")
