"""Words of an experiment for its pages, in its file or in one beside it."""

from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import Experiment, read
from parley_lab.design.own_words import known_words

FILE = """
parley: 1
name: Words
stages: [{id: hello, kind: info, lines: [Hello.]}]
cohorts: [{seats: [{open: true}]}]
appearance: {%s}
"""


def read_with(appearance: str, files: dict[str, bytes] | None = None) -> Experiment:
    found = files or {}
    return read(FILE % appearance, "words.yaml", read_words=lambda name: found[name]).experiment()


def problems(appearance: str, files: dict[str, bytes] | None = None) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        read_with(appearance, files)
    return [(one.where, one.found) for one in refused.value.problems]


def test_every_word_of_the_pages_and_of_kinds_can_be_said_otherwise() -> None:
    words: dict[str, Any] = dict(known_words())

    found = Experiment.model_validate({**read_with("").model_dump(mode="json"), "appearance": {"words": words}})

    assert {"step", "label_guess", "new_messages"} <= set(found.appearance.words)
    assert len(words) > 250


def test_a_language_is_one_file_and_words_of_the_experiment_win() -> None:
    italian = (
        b'{"go_on": "Continua", "send": "Invia", "new_messages": {"one": "{count} nuovo", "other": "{count} nuovi"}}'
    )

    found = read_with("words_from: it.json, words: {send: Spedisci}", {"it.json": italian})

    assert found.appearance.words == {
        "go_on": "Continua",
        "send": "Spedisci",
        "new_messages": {"one": "{count} nuovo", "other": "{count} nuovi"},
    }
    assert found.appearance.words_from is None


def test_a_misspelt_name_and_a_place_that_nothing_fills_are_told() -> None:
    found = problems("words: {goon: Next, step: 'Step {n} of {count}', join: 'Hello {name}'}")

    assert found == [
        ("appearance.words.goon", "'goon'"),
        ("appearance.words.step", "{n}"),
        ("appearance.words.join", "{name}"),
    ]


def test_a_file_of_words_that_has_none_is_told() -> None:
    assert [where for where, _ in problems("words_from: it.yaml", {"it.yaml": b"- one"})] == ["appearance.words_from"]
