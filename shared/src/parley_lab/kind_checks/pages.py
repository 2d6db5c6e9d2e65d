"""Checks of every stage: its example, pages, prompts, completion and data."""

import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter

from parley_lab.base.schema_filler import fill
from parley_lab.kind_checks.play import Play, thread
from parley_lab.kind_checks.promises import expect, is_json, shortened
from parley_lab.kind_checks.questions import is_strict
from parley_lab.kind_checks.trial import Trial
from parley_lab.kinds import PAGE, Ask, Blocked, Data, Done, OwnView
from parley_lab.kinds.data import COLUMNS_OF_ROWS, FILES_OF_THE_LAB
from parley_lab.kinds.kind import page_model, to_read
from parley_lab.kinds.members import strange_members
from parley_lab.kinds.parts import tells_of_others
from parley_lab.kinds.stages import AnyPage, kind_of, kinds, read_stage
from parley_lab.kinds.view import MEDIATE, READY, SPEAK, TALK, WAKE, Speaker

_TYPES: Final[Mapping[str, Any]] = {"text": str, "integer": int, "number": int | float, "boolean": bool, "member": str}
_PURPOSES: Final = (TALK, MEDIATE, SPEAK, WAKE, READY)


def public_names_are_of_the_interface(trial: Trial) -> None:
    """Public names are those of the interface: a kind and its parts have no misspelt method.

    A name that the lab does not know begins with an underscore.
    """
    play = trial.straight()
    parts = play.parts
    written: list[object] = [
        trial.kind,
        parts.questions,
        parts.draws,
        parts.talk,
        parts.narration,
        parts.data,
        parts.scripts,
    ]
    questions = parts.questions
    written += [] if questions is None else [questions.question(one.view, one.ask) for one in play.asked]
    table = parts.data.table
    written += [] if table is None or table.reporter is None else [table.reporter([trial.stage.id])]
    classes = dict.fromkeys(type(one) for one in written if one is not None)
    strange = [told for one in classes for told in strange_members(one)]
    expect(not strange, "no public names of its own", "; ".join(strange))


def example_is_complete(trial: Trial) -> None:
    """The example is a complete stage without problems, and survives JSON."""
    stage = trial.stage
    again = read_stage(json.loads(stage.model_dump_json()))
    expect(again == stage, f"the example to be read again as {stage!r}", again)
    expect(kind_of(again) is trial.kind, f"a stage of {stage.kind!r} to have the kind of that name", kind_of(again))
    problems = trial.kind.problems(stage, [])
    expect(problems == [], "an example without problems", [str(problem) for problem in problems])


def pages_are_of_their_type(trial: Trial) -> None:
    """`page` returns the type that it declares, for every member, before and after."""
    for play in (trial.play(), trial.straight()):
        for view in (*play.views(), *(replace(one, thread=None, messages=()) for one in play.views())):
            page = trial.kind.page(trial.stage, view)
            expect(type(page) is page_model(type(trial.kind)), f"a {page_model(type(trial.kind)).__name__}", page)
            again = TypeAdapter[Any](AnyPage).validate_json(page.model_dump_json())
            expect(again == page, f"a page that survives JSON: {page!r}", again)


def fields_of_pages_have_types(trial: Trial) -> None:
    """Every field of a page has a type, so that clients know it from OpenAPI."""
    untyped = untyped_fields(trial)
    if untyped:
        trial.notes.append(f"These fields of a page may hold any value: {', '.join(sorted(untyped))}.")


def untyped_fields(trial: Trial) -> set[str]:
    schema = page_model(type(trial.kind)).model_json_schema()
    models = schema.get("$defs", {})
    fields = [field for model in (schema, *models.values()) for field in model.get("properties", {}).items()]
    return {name for name, part in fields if _is_untyped(part, models)}


def _is_untyped(schema: Any, models: Mapping[str, Any], above: frozenset[str] = frozenset()) -> bool:
    """Whether a part of the schema allows any value; the fields of a referenced model are checked in their own place.

    `above`: the models that lead here, since a type may hold itself.
    """
    if not isinstance(schema, dict):
        return schema is True
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return name not in above and _is_untyped(models[name], models, above | {name})
    if not {"type", "anyOf", "oneOf", "const", "enum"} & set(schema):
        return True
    parts = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("prefixItems", ())]
    # An object without fields and a list say nothing of what they hold unless the schema does.
    parts.append(schema.get("additionalProperties", schema.get("type") == "object" and "properties" not in schema))
    parts.append(schema.get("items", schema.get("type") == "array" and "prefixItems" not in schema))
    return any(_is_untyped(part, models, above) for part in parts)


def prompts_can_be_made(trial: Trial) -> None:
    """A prompt can be made of every question, and of looking back."""
    play = trial.straight()
    looks: list[tuple[OwnView, Ask | None]] = [(view, None) for view in (*trial.play().views(), *play.views())]
    for view, ask in (*looks, *((one.view, one.ask) for one in play.asked)):
        what = "looking back" if ask is None else f"question {ask.key!r}"
        blocks = trial.kind.prompt(trial.stage, view, ask)
        expect(any(block.text for block in blocks), f"`prompt` to have a text for {what}", blocks)
        texts = trial.kind.texts(trial.stage, view)
        expect(all(isinstance(text, str) for text in texts), "`texts` to be texts", texts)
        expect(to_read(trial.kind, trial.stage, view, ask).strip() != "", f"something to read for {what}", "nothing")


def who_is_blocked_is_told_why(trial: Trial) -> None:
    """A member who cannot go on is told why; the page of one who can is JSON."""
    for play in (trial.play(), trial.straight()):
        for view in (*play.views(), *(replace(one, thread=None) for one in play.views())):
            match play.completion(view):
                case Blocked(reasons):
                    told = bool(reasons) and all(reason.strip() for reason in reasons)
                    expect(told, "Blocked with a reason in words for the member", reasons)
                case Done(page):
                    expect(is_json(page), "the page of a member who is done to be plain JSON", page)


def who_has_answered_everything_may_go_on(trial: Trial) -> None:
    """A member who has answered everything is asked nothing more and may go on, also once the page is stored."""
    play = trial.straight()
    for view in play.views():
        if play.parts.questions is not None:
            expect(play.parts.questions.due(view) == [], "nothing to be due at the end", play.parts.questions.due(view))
        if view.me.kind == "participant":
            completion = play.completion(view)
            expect(isinstance(completion, Done), "everybody to be Done when everything is answered", completion)
            if isinstance(completion, Done) and completion.page is not None:
                after = play.completion(replace(view, own={**view.own, PAGE: completion.page}))
                expect(isinstance(after, Done), "who is done to stay so once the page is stored", after)


def others_do_not_decide_who_goes_on(trial: Trial) -> None:
    """Completion and the check of answers do not depend on other members.

    Where a member acts, no other member has been read.
    """
    straight = trial.straight()
    for play in (trial.play(), straight):
        for view in play.views():
            alone, among = play.completion(replace(view, members=(view.me,))), play.completion(view)
            expect(alone == among, f"{among} also when `view.members` has no other member", alone)
    for one in straight.asked:
        alone_view = replace(one.view, members=(one.view.me,))
        question = None if straight.parts.questions is None else straight.parts.questions.question(alone_view, one.ask)
        stored = None if question is None else question.check(one.stored)
        expect(stored == one.stored, f"{one.stored!r} to be taken also when `view.members` has no other member", stored)


def pages_tell_of_others_where_they_are_read(trial: Trial) -> None:
    """A page is the same when no other member was read, unless something on the stage tells of others.

    What does: `names_others`, talk, minutes, an audience, `reads`, a state or draws (unless `is_each_alone`).
    """
    for play in (trial.play(), trial.straight()):
        if tells_of_others(trial.stage, play.parts):
            return
        for view in play.views():
            alone = trial.kind.page(trial.stage, replace(view, members=(view.me,)))
            page = trial.kind.page(trial.stage, view)
            expect(alone == page, f"{page!r} also when `view.members` has no other member (see `names_others`)", alone)


def stored_states_are_read_like_those_made(trial: Trial) -> None:
    """A stored state, in which the keys of objects have another order, is read like a new one."""
    for view in trial.straight().views():
        state = json.loads(json.dumps(view.state), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
        stored = replace(view, state=state)
        kind, stage = trial.kind, trial.stage
        for what, read in (("page", kind.page), ("prompt", kind.prompt), ("completion", kind.completion)):
            made, again = read(stage, view), read(stage, stored)
            expect(again == made, f"the same {what} of a state whose keys have another order: {shortened(made)}", again)


def there_is_room_for_a_member(trial: Trial) -> None:
    """A cohort has room for at least one participant, and a stage has at most one thread."""
    parts = trial.kind.parts(trial.stage)
    least, most = parts.players
    expect(
        least >= 0 and (most is None or most >= max(least, 1)), "`players` to be the least and the most", (least, most)
    )
    expect(parts.talk is None or parts.minutes is None, "talk or minutes, since a stage has one thread", "both")


def pages_at_the_end(play: Play) -> dict[UUID, Any]:
    """The stored page of every participant in the end."""
    found = {}
    for view in play.views():
        completion = play.completion(view)
        if isinstance(completion, Done) and view.me.kind == "participant":
            found[view.me.id] = view.own.get(PAGE, completion.page)
    return found


def answers_can_be_shown(trial: Trial) -> None:
    """What is shown of an answer is plain JSON, also of the page that `completion` gives."""
    play = trial.straight()
    questions = play.parts.questions
    if questions is None:
        return
    for answer in (*play.given.values(), *pages_at_the_end(play).values()):
        if answer is not None:
            shown = questions.shown(answer)
            expect(is_json(shown), f"what is shown of {shortened(answer)} to be plain JSON", shown)


def cells_are_in_their_columns(trial: Trial) -> None:
    """Every cell has a column, and is of its type or empty; every column has a field, and every role is known."""
    data = trial.kind.parts(trial.stage).data
    columns = {column.name: column for column in data.columns()}
    expect(len(columns) == len(data.columns()), "each column once", [column.name for column in data.columns()])
    expect(data.cells({}) == data.cells(None) == {}, "no cells for the pages {} and None", data.cells({}))
    pages, roles = pages_at_the_end(trial.straight()).values(), data.roles()
    if pages and type(data).cells is Data.cells:
        fields = {name for page in pages if isinstance(page, Mapping) for name in page}
        expect(
            fields >= set(columns),
            f"a field of the page that `completion` gives for each of {[*columns]}",
            sorted(fields),
        )
    expect(not roles or "role" in columns, "a column `role` where the stage gives roles", [*columns])
    for page in pages:
        cells = data.cells(page)
        is_given = not roles or cells.get("role") in (None, *roles)
        expect(is_given, f"one of `roles` in the column `role`: {', '.join(roles)}", cells.get("role"))
        for name, cell in cells.items():
            expect(name in columns, f"a column for the cell {name!r}", list(columns))
            is_of_type = cell is None or isinstance(cell, _TYPES[columns[name].type])
            expect(is_of_type, f"{name!r} to be of its column's type, {columns[name].type}", cell)


def lines_of_answers_agree(trial: Trial) -> None:
    """The lines of one answer in the long table equal those of its page in the end."""
    play, data = trial.straight(), trial.kind.parts(trial.stage).data
    lines = {owner: data.answered(PAGE, page) for owner, page in pages_at_the_end(play).items()}
    for found in lines.values():
        names = [line.field for line in found]
        expect(len(set(names)) == len(names), "a line for each field", names)
        expect(all(is_json(line.value) for line in found), "lines of plain JSON", found)
    for (owner, key), value in play.given.items():
        unlike = [line for line in data.answered(key, value) if owner in lines and line not in lines[owner]]
        expect(not unlike, f"the lines of {key!r} among those of the page: {lines.get(owner)}", unlike)


def rows_are_in_their_table(trial: Trial) -> None:
    """Rows of a kind's table have its columns, and a report can be made of them; without rows there is none."""
    table = trial.kind.parts(trial.stage).data.table
    if table is None:
        return
    twice = set(table.columns) & set(COLUMNS_OF_ROWS)
    expect(not twice, f"columns beside {', '.join(COLUMNS_OF_ROWS)}, which every table has", sorted(twice))
    rows = table.rows(trial.straight().lab())
    expect(bool(rows), "rows of a stage that is over", rows)
    for row in rows:
        expect(set(row) <= set(table.columns), f"no columns but {table.columns}", sorted(set(row) - set(table.columns)))
        expect(is_json(row), "a row of plain JSON", row)
    if table.reporter is None:
        return
    report = table.reporter([trial.stage.id]).report()
    expect(report is None, "no report without rows", report)
    reporter = table.reporter([trial.stage.id])
    where = {"cohort_id": "1", "cohort_path": "c1", "cohort": "c1", "treatment": "default", "stage": trial.stage.id}
    reporter.add([{**where, **dict.fromkeys(table.columns), **row} for row in rows])
    report = reporter.report()
    for made in () if report is None else report.tables:
        is_free = made.name not in FILES_OF_THE_LAB and made.name not in {table.name, *_tables_of_others(trial)}
        expect(is_free, "a table of the report with a name of its own", f"{made.name!r}, which is another table's")
        known = all(set(row) <= set(made.columns) for row in made.rows)
        expect(
            known and is_json([*map(dict, made.rows)]),
            f"rows of {made.name} in plain JSON with {made.columns}",
            made.rows,
        )


def table_names_are_its_own(trial: Trial) -> None:
    """No other kind has a table of the same name, nor has the lab."""
    mine = trial.kind.parts(trial.stage).data.table
    if mine is not None:
        expect(mine.name not in FILES_OF_THE_LAB, "a table with a name of its own", f"{mine.name}.csv is the lab's")
    taken = _tables_of_others(trial).get(mine.name) if mine is not None else None
    expect(taken is None, "a table with a name of its own", f"the name of the table of {taken}")


def _tables_of_others(trial: Trial) -> dict[str, str]:
    """The kind with each name of a table."""
    examples = [kind.example() for name, kind in kinds().items() if name != trial.stage.kind]
    return {table.name: one.kind for one in examples if (table := kind_of(one).parts(one).data.table) is not None}


def minutes_are_of_a_stage_with_a_state(trial: Trial) -> None:
    """Minutes are made of a state, have a key for each line, and are the same each time."""
    play = trial.straight()
    make = play.parts.minutes
    if make is None:
        return
    minutes = make(play.lab())
    keys = [line.key for line in minutes.lines]
    expect(play.parts.state is not None, "a state beside minutes", "none")
    expect(minutes == make(play.lab()), "the same minutes each time", make(play.lab()))
    expect(0 < len(set(keys)) == len(keys), "a key of its own for each line", keys)


def narrations_come_to_something(trial: Trial) -> None:
    """A narration begins empty and has an outcome in the end."""
    before, after = trial.play(), trial.straight()
    told = after.parts.narration
    if told is None:
        return
    expect((*told.steps(before.lab()),) == (), "no steps at the beginning", told.steps(before.lab()))
    expect(told.outcome(before.lab()) is None, "no outcome at the beginning", told.outcome(before.lab()))
    steps = told.steps(after.lab())
    expect(all(step.strip() for step in steps), "steps with words", steps)
    expect(bool(told.outcome(after.lab())), "an outcome in the end", told.outcome(after.lab()))


def scripts_act_for_no_other(trial: Trial) -> None:
    """Scripts act only for members who have one, and problems of scripts say what is expected."""
    play = trial.play()
    scripts = play.parts.scripts
    if scripts is None:
        return
    problems = scripts.problems(None)
    expect(all(problem.expected for problem in problems), "problems that say what is expected", problems)
    expect(
        scripts.play(play.lab(), Random) == {}, "no moves of members without a script", scripts.play(play.lab(), Random)
    )


def turns_go_to_those_who_are_there(trial: Trial) -> None:
    """Turns are the same for the same chance, go to members who are there, and to none when the thread has ended."""
    play = trial.play()
    talk, members = play.parts.talk, play.lab().members
    if talk is None:
        return
    here = thread(*map(Speaker, members))
    wave = talk.next_wave(here, Random(trial.seed))
    expect(wave == talk.next_wave(here, Random(trial.seed)), f"the same wave twice: {wave}", "another")
    expect({*wave.speakers, *wave.others} <= {one.id for one in members}, "turns of members", wave)
    ended = talk.next_wave(replace(here, ended=True), Random(trial.seed))
    expect(ended.speakers == (), "no turns when the thread has ended", ended)


def talk_has_a_task_and_a_shape(trial: Trial) -> None:
    """An agent's reply in a thread has a task, a strict shape and words; one about readiness has no words."""
    play = trial.play()
    talk = play.parts.talk
    if talk is None:
        return
    for purpose in _PURPOSES:
        model = talk.reply_model(purpose)
        expect(all(talk.task(view, purpose).strip() for view in play.views()), f"a task for {purpose!r}", "none")
        expect(is_strict(model), f"every field for {purpose!r} required, and no others", model.model_json_schema())
        said = talk.utterance(purpose, fill(model.model_json_schema(), trial.rng()))
        expect(said.text != "", "words, or None for silence", said)
        expect(purpose != READY or said.text is None, "no words of who is asked whether they are ready", said)


def rules_of_talk_can_be_kept(trial: Trial) -> None:
    """The rules of a talk are consistent: a limit leaves time, and topics have unique ids."""
    talk = trial.kind.parts(trial.stage).talk
    if talk is None:
        return
    held, topics = talk.rules, [topic_id for topic_id, _ in talk.rules.topics]
    expect(bool(held.turn_taking), "a rule of taking turns", held)
    expect(held.time_limit_seconds is None or held.time_limit_seconds > 0, "a limit that leaves time", held)
    expect(held.post_limit is None or min(held.post_limit) > 0, "a limit of posts that leaves some", held)
    expect(len(set(topics)) == len(topics), "topics with ids of their own", topics)
