"""The items of a prompt in words, as far as its author may know them. Pure.

Members' texts are data, not instructions: every turn of a conversation begins in the first column with its time and its
author, and a member's text never begins there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import add
from typing import Final

from pydantic import BaseModel

from parley_lab.base import rules, seeds
from parley_lab.base.errors import NotFound
from parley_lab.contracts.agent_config import AgentConfig
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.models import Hint
from parley_lab.contracts.prompt_items import (
    ALL_STAGES,
    THIS_STAGE,
    Character,
    Group,
    Item,
    PersonaContext,
    ProfileInfo,
    Shuffle,
    StageContext,
    TextItem,
)
from parley_lab.contracts.transfers import TASK as TRANSFER_TASK
from parley_lab.contracts.transfers import TRANSFER, TransferReply
from parley_lab.drafts.context import PromptContext
from parley_lab.kinds import PAGE, Ask, Block, Json, Member
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.kinds.view import MEDIATE, TALK, TALKING

_INDENT: Final = "    "

_LABEL: Final = (
    "This name is only a label that the task gave you: an animal or a thing in it says nothing about who you are."
)
_PRIVATE: Final = (
    "Who you are. This is private: nobody else can see it. Let it shape what you think and how you write; do not "
    "recite it, and do not say that you were given a description."
)
_MEDIATOR_PRIVATE: Final = "How you are to act. This is private: nobody in the conversation can see it."
_EARLIER: Final = "# Earlier stages\n\nThese are over. You can look back at them, but nothing in them can be changed."
_ONE_EARLIER: Final = "# An earlier stage\n\nIt is over. You can look back at it, but nothing in it can be changed."
_TASK: Final = "# Your task"
_CURRENT: Final = "# Current stage\n\nYou are here now."


@dataclass(frozen=True, slots=True)
class Page:
    """The context for the items of one prompt.

    `key` identifies the prompt among those of its persona. `left_out`: how many turns of a stage's transcript are left
    out, the oldest first. `turns` is filled with the transcripts that are shown.
    """

    context: PromptContext
    key: str
    task: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    turns: dict[str, "Turns"] = field(default_factory=dict)


@dataclass(slots=True)
class Turns:
    """The characters of each turn of a stage, in a prompt that shows the stage so many times."""

    lengths: list[int]
    times: int = 1


def ask_of(context: PromptContext) -> Ask:
    """The ask of the draft; a mediator's talk has the purpose MEDIATE."""
    is_mediating = context.ask.purpose == TALK and context.author.kind == "mediator"
    return replace(context.ask, purpose=MEDIATE) if is_mediating else context.ask


@dataclass(frozen=True, slots=True)
class Asked:
    """What a draft asks of a model: an answer to a question, or words in a conversation."""

    task: str
    reply_model: type[BaseModel]
    text_form: str | None = None
    hints: Mapping[str, Hint] = field(default_factory=dict)


def asked(context: PromptContext) -> Asked:
    """What the draft asks of its author.

    Raises:
        NotFound: the stage asks nothing of this author.
    """
    ask, parts, view = ask_of(context), parts_of(context.stage), context.view(context.stage)
    if ask.purpose == TRANSFER:
        return Asked(TRANSFER_TASK, TransferReply)
    if parts.talk is not None and ask.key == PAGE and ask.purpose in TALKING:
        return Asked(parts.talk.task(view, ask.purpose), parts.talk.reply_model(ask.purpose))
    question = None if parts.questions is None or ask.purpose in TALKING else parts.questions.question(view, ask)
    if question is None:
        raise NotFound(f"Nothing is asked of a {'mediator' if ask.purpose == MEDIATE else 'model'} here.")
    return Asked(question.task(), question.reply_model(), question.text_form(), question.hints())


def written(page: Page, items: Sequence[Item], path: str = "") -> list[list[str]]:
    """The paragraphs of each item, none for a hidden item; `path` is that of the group."""
    titles: Counter[str] = Counter()
    paragraphs: list[list[str]] = []
    for item in items:
        place = path
        if isinstance(item, Group):
            # Titles and their repetitions, so that other items may come and go around a group.
            titles[item.title] += 1
            place = f"{path}/group:{item.title}:{titles[item.title]}"
        paragraphs.append([part for part in _one(page, item, place) if part] if _is_shown(page, item) else [])
    return paragraphs


def _one(page: Page, item: Item, path: str) -> Iterator[str]:
    context = page.context
    if isinstance(item, Group):
        yield from _group(page, item, path)
    elif isinstance(item, TextItem):
        yield item.text.strip()
    elif isinstance(item, ProfileInfo):
        yield _alias(context)
    elif isinstance(item, PersonaContext):
        yield _persona(context)
    elif isinstance(item, Character):
        yield _character(context)
    elif isinstance(item, StageContext):
        yield from _stages(page, item)
    else:
        yield f"{_TASK}\n\n{page.task}" if item.heading else page.task


def _is_shown(page: Page, item: Item) -> bool:
    """Apply the item's rule to the answers of one participant: the author, or the only one that a mediator is with.

    For a mediator of several participants, every item is shown.
    """
    if item.show_if is None:
        return True
    context = page.context
    view = context.view(context.stage)
    of = [context.author] if context.author.kind == "participant" else []
    of = of or [member for member in view.members if member.kind == "participant"]
    if len(of) != 1:
        return True
    answers = {stage.id: _page_of(context, stage, of[0]) for stage in context.stages}
    pages = {**answers, **context.partner_pages}
    known = {stage_id: answer for stage_id, answer in pages.items() if isinstance(answer, Mapping)}
    return rules.holds(item.show_if, known, context.stage.id)


def _page_of(context: PromptContext, stage: StageConfig, member: Member) -> Json | None:
    """The member's answer to the page, as far as the author may read it."""
    view = context.view(stage)
    return view.own.get(PAGE) if member.id == view.me.id else view.shown.get(member.id)


def _group(page: Page, group: Group, path: str) -> Iterator[str]:
    parts = written(page, group.items, path)
    order = range(len(parts)) if group.shuffle is None else shuffled(page, group.shuffle, path, len(parts))
    for number in order:
        yield from parts[number]


def shuffled(page: Page, shuffle: Shuffle, path: str, count: int) -> list[int]:
    """A drawn order of `count` things; one more at the end leaves the order of the others as it is."""
    scope = _scope(page, shuffle)

    def drawn(number: int) -> float:
        return seeds.rng(page.context.seed, f"{scope}{path}/item:{number}").random()

    return sorted(range(count), key=drawn)


def _scope(page: Page, shuffle: Shuffle) -> str:
    context = page.context
    if shuffle.seed == "custom":
        return f"prompt/custom:{shuffle.custom_seed}"
    paths = {"experiment": "", "cohort": f"{context.cohort_path}/", "participant": f"{context.author.path}/"}
    return f"{paths[shuffle.seed]}prompt:{page.key}"


def _alias(context: PromptContext) -> str:
    profile = context.author.profile
    name = f"{profile.avatar} {context.author.name}".strip()
    known = f"Others know you as: {name}{f', {profile.pronouns}' if profile.pronouns else ''}."
    return known if context.author.kind == "mediator" else f"{known} {_LABEL}"


def _persona(context: PromptContext) -> str:
    heading = _MEDIATOR_PRIVATE if context.author.kind == "mediator" else _PRIVATE
    agent = context.agent
    role = f"You are {_sentence(agent.role)}" if agent.role.strip() else ""
    attributes = [f"- {key}: {value}" for key, value in agent.attributes.items() if value is not None]
    parts = [f"{role} {agent.backstory.strip()}".strip(), agent.text.strip(), "\n".join(attributes), _goal(agent)]
    described = "\n\n".join(part for part in parts if part)
    return f"{heading}\n\n{described}" if described else ""


def _character(context: PromptContext) -> str:
    """Role and backstory, then the goal; a missing full stop is added to each."""
    agent = context.agent
    role = _sentence(agent.role) or _sentence(context.author.name)
    backstory = agent.backstory.strip() or agent.text.strip()
    who = f"You are {role} {backstory}".strip()
    return "\n\n".join(part for part in (who, _goal(agent)) if part)


def _goal(agent: AgentConfig) -> str:
    return f"Your goal: {_sentence(agent.goal)}" if agent.goal.strip() else ""


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _stages(page: Page, item: StageContext) -> Iterator[str]:
    *earlier, current = page.context.stages
    if item.stage == ALL_STAGES:
        if earlier and item.heading:
            yield _EARLIER
        for stage in earlier:
            yield from _shown(page, stage, item, with_answers=item.answers)
    elif item.stage not in (THIS_STAGE, current.id):
        yield from _one_earlier(page, item, earlier)
        return
    # What is asked now is shown as it is asked.
    if item.heading:
        yield _CURRENT
    yield from _shown(page, current, item, with_answers=False)


def _one_earlier(page: Page, item: StageContext, earlier: Iterable[StageConfig]) -> Iterator[str]:
    for stage in earlier:
        if stage.id == item.stage:
            if item.heading:
                yield _ONE_EARLIER
            yield from _shown(page, stage, item, with_answers=item.answers)


def _shown(page: Page, stage: StageConfig, item: StageContext, *, with_answers: bool) -> Iterator[str]:
    """A stage with its name and the parts that the item selects."""
    if item.heading:
        yield f"[Stage: {stage.title}]"
    view = page.context.view(stage)
    if item.text:
        yield "\n\n".join(text.strip() for text in kind_of(stage).texts(stage, view) if text.strip())
    if item.info and stage.info.strip():
        yield f"Additional information: {stage.info.strip()}"
    if item.display:
        ask = ask_of(page.context) if stage.id == page.context.stage.id else None
        seen = view if with_answers or ask is not None else replace(view, own={}, shown={})
        blocks = kind_of(stage).prompt(stage, seen, ask)
        yield _display(page, stage, [one for one in blocks if _is_turn(one) or not item.only_turns])


def _is_turn(block: Block) -> bool:
    return block.elapsed_ms is not None or block.speaker is not None


def _display(page: Page, stage: StageConfig, blocks: Iterable[Block]) -> str:
    """The blocks, turns line under line, everything else in paragraphs of its own."""
    parts: list[str] = []
    lengths: list[int] = []
    left_out = page.left_out.get(stage.id, 0)
    for block in blocks:
        if not _is_turn(block):
            parts += ["\n\n", block.text]
            continue
        turn = _turn(block.text)
        lengths.append(len(turn) + 1)
        if len(lengths) > left_out:
            parts += ["\n", turn]
        elif len(lengths) == 1:
            parts += ["\n", left_out_line(left_out)]
    known = page.turns.setdefault(stage.id, Turns([0] * len(lengths), 0))
    known.lengths, known.times = [*map(add, known.lengths, lengths)], known.times + 1
    return "".join(parts[1:])


def left_out_line(count: int) -> str:
    """The line in place of the oldest messages. Members' texts are indented, so none can look like it."""
    return f"... {count} earlier {'message' if count == 1 else 'messages'} left out"


def _turn(said: str) -> str:
    """One turn; its further lines are indented, so that they cannot look like a turn, a heading or the end."""
    first, *rest = said.splitlines() or [""]
    return "\n".join([first, *(line if line.startswith(_INDENT) else _INDENT + line for line in rest)])
