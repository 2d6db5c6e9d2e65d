"""How many choose the first word of each pair, for the warm and for the cold person."""

import csv
import sys
from pathlib import Path

PUBLISHED = {
    "generous": (0.91, 0.08),
    "wise": (0.65, 0.25),
    "happy": (0.90, 0.34),
    "good-natured": (0.94, 0.17),
    "humorous": (0.77, 0.13),
    "reliable": (0.94, 0.99),
}
"""Warm and cold, N = 90 and 76: Asch (1946), Forming impressions of personality, table 2, experiment I."""


def computed(folder: Path) -> dict[str, tuple[float, float]]:
    """The shares for warm and cold by pair, from the data in this folder."""
    with (folder / "answers.csv").open() as lines:
        chosen = [(one["row"], one["factor.word"], one["value"]) for one in csv.DictReader(lines) if one["value"]]

    def share(pair: str, word: str) -> float:
        given = [value for row, of, value in chosen if (row, of) == (pair, word)]
        return given.count("good") / len(given)

    return {pair: (share(pair, "warm"), share(pair, "cold")) for pair in PUBLISHED}


if __name__ == "__main__":
    for name, (warm, cold) in computed(Path(sys.argv[1])).items():
        told = "published: {:.2f} and {:.2f}".format(*PUBLISHED[name])
        print(f"{name}: warm {warm:.2f}, cold {cold:.2f}, {told}")
