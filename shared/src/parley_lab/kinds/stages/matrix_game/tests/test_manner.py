"""How the mock talks for each type of persona."""

from typing import get_args

import pytest

from parley_lab.contracts.experiment import Persona
from parley_lab.kinds.stages import manner_of
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Framing, labels_of
from parley_lab.kinds.stages.matrix_game.policies import PersonaType
from parley_lab.kinds.stages.matrix_game.protocol import check, promise
from parley_lab.kinds.stages.matrix_game.script import before_a_move, in_conversations

KEEP_QUIET = {"selfish", "random"}
WITH_A_MANNER = [name for name in get_args(PersonaType) if name != "custom"]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("framing", get_args(Framing))
@pytest.mark.parametrize("action", get_args(Action))
@pytest.mark.parametrize("persona", WITH_A_MANNER)
def test_what_is_said_before_a_move_promises_it_or_nothing(
    persona: PersonaType, action: Action, framing: Framing, swapped: bool
) -> None:
    labels = labels_of(framing, swapped=swapped)

    said = before_a_move(persona, labels.letter(action))

    assert said is not None
    assert promise(said, labels) == (None if persona in KEEP_QUIET else action)
    assert check(said, "mcp_filtered").delivered == said


def test_a_free_persona_has_no_manner_of_its_own() -> None:
    assert before_a_move("custom", "C") is None
    assert in_conversations("custom") == ()


def test_every_type_of_persona_has_sentences_of_its_own() -> None:
    spoken = [manner_of({"matrix_game": {"persona": name}}) for name in WITH_A_MANNER]

    assert all(spoken)
    assert len({sentence for sentences in spoken for sentence in sentences}) == sum(map(len, spoken))


@pytest.mark.parametrize("script", [{}, {"matrix_game": {"policy": "TFT"}}, {"matrix_game": {"persona": ["odd"]}}])
def test_a_script_that_names_no_type_of_persona_has_no_manner(script: dict[str, dict[str, object]]) -> None:
    assert manner_of(Persona(id="one", script=script).script) == ()
