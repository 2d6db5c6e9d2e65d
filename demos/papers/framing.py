"""How many choose the sure plan in each frame."""

import csv
import sys
from pathlib import Path

PUBLISHED = {"gain": 0.72, "loss": 0.22}
"""N = 152 and 155: Tversky and Kahneman (1981), The framing of decisions, Science 211, problems 1 and 2."""


def computed(folder: Path) -> dict[str, float]:
    """The share of the sure plan by frame, from the data in this folder."""
    with (folder / "participants.csv").open() as lines:
        chosen = [(one["factor.frame"], one["plans.chosen"]) for one in csv.DictReader(lines) if one["plans.chosen"]]
    frames = sorted({frame for frame, _ in chosen})
    return {of: sum(one == (of, "sure") for one in chosen) / sum(frame == of for frame, _ in chosen) for of in frames}


if __name__ == "__main__":
    for name, value in computed(Path(sys.argv[1])).items():
        print(f"{name}: {value:.2f}, published: {PUBLISHED[name]:.2f}")
