"""A small study whose prompts are made without a database."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

from pydantic import TypeAdapter

from parley_lab.contracts.agent_config import AgentConfig
from parley_lab.contracts.experiment import Profile, StagedChat
from parley_lab.contracts.models import ModelSettings
from parley_lab.contracts.prompt_items import PromptItems
from parley_lab.drafts.context import PromptContext
from parley_lab.kinds import PAGE, Ask, Member
from parley_lab.kinds.stages import read_stage
from parley_lab.kinds.view import TALK, Message
from parley_lab.prompt_builder.rendering import render
from parley_lab.testing.views import facts_of_a_prompt

Answer = tuple[tuple[UUID, str], dict[str, Any]]
SPACE = UUID("1f0c7a52-93f4-4b6d-8d0b-5f1e2d3c4b5a")
ITEMS: TypeAdapter[PromptItems] = TypeAdapter(PromptItems)


def survey(stage_id: str, question: str, **fields: Any) -> Any:
    questions = [{"kind": "text", "id": question, "title": f"What about {question}?"}]
    return read_stage({"kind": "survey", "id": stage_id, "questions": questions, **fields})


WELCOME = read_stage({"kind": "info", "id": "welcome", "lines": ["The night bus."], "description": "Please read."})
BEFORE = survey("before", "bus", info="Buses are big.")
TALKING = read_stage({"kind": "group_chat", "id": "talk", "name": "Your talk", "description": "Be kind."})
AFTER = survey("after", "night")


def member(name: str, **fields: Any) -> Member:
    profile = Profile(name=name, avatar="🐻")
    values: dict[str, Any] = {"path": f"c1/{name.lower()}", "kind": "participant", "player": "agent", **fields}
    return Member(id=uuid5(SPACE, name), profile=profile, **values)


ANN, BOB, MO = member("Ann"), member("Bob"), member("Mo", kind="mediator")


def context(
    items: Sequence[dict[str, Any]],
    *,
    key: str = "talk",
    author: Member = ANN,
    stages: Sequence[Any] = (WELCOME, BEFORE, TALKING),
    members: Sequence[Member] = (ANN, BOB, MO),
    answers: Sequence[Answer] = (),
    said: Sequence[Message] = (),
    seed: int = 7,
    purpose: str = TALK,
) -> PromptContext:
    config = AgentConfig(
        persona_id="p",
        text="You drive a taxi.",
        attributes={"age": 41},
        model=ModelSettings(),
        chat=StagedChat(),
        prompts={key: ITEMS.validate_python(items)},
    )
    return PromptContext(
        draft_id=SPACE,
        seed=seed,
        cohort_path="c1",
        ask=Ask(author.id, PAGE, purpose),
        author=author,
        agent=config,
        stages=tuple(stages),
        facts=facts_of_a_prompt(members, stages, author, pages=dict(answers), messages={TALKING.id: tuple(said)}),
    )


def text(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def shown(*items: dict[str, Any], **fields: Any) -> str:
    """The user's part of a prompt with these items, without the form of the reply."""
    return render(context([{"type": "task"}, *items], **fields)).messages[1].content.partition("\n\n# Your reply")[0]


def answer(of: Member, stage_id: str, **values: Any) -> Answer:
    return (of.id, stage_id), values
