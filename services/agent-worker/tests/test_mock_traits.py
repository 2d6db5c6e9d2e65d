"""A persona's traits: related scales go together, a question asked again is answered alike, no answer is the rule."""

from collections import Counter
from random import Random
from statistics import correlation
from typing import Any
from uuid import UUID

import pytest

from parley_lab.agent_worker.models.mock import mock_reply
from parley_lab.agent_worker.models.traits import Identity, at_any_time, position
from parley_lab.contracts.experiment import Profile, StageConfig
from parley_lab.contracts.models import ChatMessage, Hint, ModelRequest, ModelSettings
from parley_lab.kinds import PAGE, Ask, Member
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.stages.survey.config import SurveyStage
from parley_lab.testing.views import own

ADA = Member(UUID(int=1), "c1/m1", "participant", "agent", Profile(name="Ada"))
PERSONAS = range(200)
SEEDS = range(20)


def place(number: int, question: str, *, seed: int = 1, moment: str = "") -> float:
    return position(
        Identity(seed, f"persona-{number}", f"c1/m{number}"), question, Random(f"{number}{question}{moment}")
    )


def on_a_scale(number: int, question: str, *, seed: int, moment: str = "") -> float:
    return float(1 + int(7 * place(number, question, seed=seed, moment=moment)))


@pytest.mark.parametrize("seed", SEEDS)
def test_related_scales_correlate_and_none_is_the_other(seed: int) -> None:
    trust, support = (
        [on_a_scale(one, f"attitude/{name}", seed=seed) for one in PERSONAS] for name in ("trust", "support")
    )

    assert 0.3 <= correlation(trust, support) <= 0.7


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("before", "after"), [("support", "support"), ("support_before", "support_after")])
def test_the_same_question_is_answered_alike_before_and_after(seed: int, before: str, after: str) -> None:
    first = [on_a_scale(one, f"attitude/{before}", seed=seed, moment="before") for one in PERSONAS]
    second = [on_a_scale(one, f"attitude/{after}", seed=seed, moment="after") for one in PERSONAS]

    assert correlation(first, second) >= 0.6
    assert first != second


@pytest.mark.parametrize("seed", SEEDS)
def test_questions_that_share_no_trait_do_not_go_together(seed: int) -> None:
    drives, height = ([place(one, name, seed=seed) for one in PERSONAS] for name in ("drives", "height"))

    assert abs(correlation(drives, height)) < 0.3


@pytest.mark.parametrize("options", [2, 3, 5, 7])
@pytest.mark.parametrize("question", ["attitude/support", "drives"])
def test_no_option_is_chosen_by_more_than_60_percent(options: int, question: str) -> None:
    for seed in SEEDS:
        chosen = Counter(int(options * place(one, question, seed=seed)) for one in PERSONAS)

        assert max(chosen.values()) <= 0.6 * len(PERSONAS), seed
        assert set(chosen) == set(range(options)), seed


def test_traits_are_the_personas_and_not_only_the_seats() -> None:
    def played_by(seat: int) -> list[float]:
        return [position(Identity(1, f"p{one}", f"c{seat}/m{one}"), "drives", Random(one + seat)) for one in PERSONAS]

    assert correlation(played_by(1), played_by(1000)) > 0.3


def test_traits_come_from_the_personas_text_as_well_as_from_its_id() -> None:
    def answers(text: str, seat: int) -> list[float]:
        return [
            position(Identity(1, "judge", f"c{seat}/m{one}", f"{text} {one}"), "drives", Random(one + seat))
            for one in PERSONAS
        ]

    assert correlation(answers("You are for it.", 1), answers("You are for it.", 1000)) > 0.3
    assert abs(correlation(answers("You are for it.", 1), answers("You are strongly against it.", 1000))) < 0.3


@pytest.mark.parametrize("question", ["support", "support_before", "post-support", "Support.t1", "support now"])
def test_words_for_when_it_is_asked_are_no_part_of_a_question(question: str) -> None:
    assert at_any_time(question) == "support"


@pytest.mark.parametrize("question", ["support_2", "before", "after"])
def test_other_questions_stay_what_they_are(question: str) -> None:
    assert at_any_time(question) == question.replace("_", "-")


STAGE: StageConfig = SurveyStage.model_validate(
    {
        "id": "page",
        "kind": "survey",
        "questions": [
            {"id": "support", "kind": "scale", "title": "Support", "lower": 1, "upper": 7},
            {"id": "trust", "kind": "scale", "title": "Trust", "lower": 0, "upper": 10},
            {"id": "drives", "kind": "choice", "title": "Car", "options": [{"id": one, "text": one} for one in "yn"]},
            {"id": "sure", "kind": "check", "title": "Sure"},
            {
                "id": "whom",
                "kind": "choices",
                "title": "Whom",
                "min_chosen": 1,
                "options": [{"id": one, "text": one} for one in "abcd"],
            },
            {"id": "reason", "kind": "text", "title": "Why"},
        ],
    }
)


def page(number: int, stage_id: str) -> dict[str, Any]:
    """What the mock answers for a persona, by the same way as a worker asks it."""
    questions = parts_of(STAGE).questions
    assert questions is not None
    question = questions.question(own(ADA), Ask(ADA.id, PAGE, "page"))
    assert question is not None
    hints: dict[str, Hint] = {
        "persona": f"p{number}",
        "persona_text": f"You are number {number}.",
        "member": f"c1/m{number}",
    }
    request = ModelRequest(
        path=f"c1/m{number}/{stage_id}/page/draft/call:1",
        seed=3,
        settings=ModelSettings(provider="mock"),
        messages=(ChatMessage(role="user", content="Answer."),),
        reply_schema=question.reply_model().model_json_schema(),
        hints=hints | {**question.hints()},
    )
    parsed = mock_reply(request).parsed
    assert parsed is not None
    return parsed


def test_the_pages_of_200_personas_hold_to_all_that() -> None:
    before, after = ([page(one, stage) for one in PERSONAS] for stage in ("before", "after"))

    scales = {name: [float(answers[name]) for answers in before] for name in ("support", "trust")}
    assert 0.3 <= correlation(scales["support"], scales["trust"]) <= 0.7
    for name, values in scales.items():
        assert correlation(values, [float(answers[name]) for answers in after]) >= 0.6
    for name in ("support", "trust", "drives", "sure", "reason"):
        assert Counter(str(answers[name]) for answers in before).most_common(1)[0][1] <= 120, name
    chosen = Counter(option for answers in before for option in answers["whom"])
    assert set(chosen) == set("abcd")
    assert max(chosen.values()) <= 120
