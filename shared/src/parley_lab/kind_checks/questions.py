"""Checks of every question: who is asked, its form, its shape for models, and what is stored."""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, get_args

from pydantic import BaseModel

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.languages import NameLanguage
from parley_lab.kind_checks.answering import made_answer
from parley_lab.kind_checks.play import Asked
from parley_lab.kind_checks.promises import expect, is_json
from parley_lab.kind_checks.trial import Trial
from parley_lab.kinds import Form, Question, Substitute, UnusableReply
from parley_lab.kinds.scripted import filled


def is_strict(model: type[BaseModel]) -> bool:
    """Whether providers accept the schema: an object whose fields are all required, without defaults."""
    schema = model.model_json_schema()
    is_complete = schema.get("required", []) == list(schema.get("properties", ()))
    return bool(is_complete and schema.get("additionalProperties") is False and "default" not in names_in(schema))


def names_in(value: Any) -> set[str]:
    """The names of all fields, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*(names_in(part) for part in value.values()))
    return set().union(*(names_in(part) for part in value)) if isinstance(value, list) else set()


def asking_again_changes_nothing(trial: Trial) -> None:
    """`due` is idempotent: unique keys, for its reader; without a state only for agents."""
    play = trial.play()
    questions = play.parts.questions
    if questions is None:
        return
    for view in play.views():
        wanted = questions.due(view)
        keys = [ask.key for ask in wanted]
        expect(questions.due(view) == wanted, f"the same asks twice: {wanted}", questions.due(view))
        expect(len(set(keys)) == len(keys), "each key once", keys)
        expect({ask.member_id for ask in wanted} <= {view.me.id}, f"asks for {view.me.path} alone", wanted)
        is_asked = not wanted or play.parts.state is not None or view.me.player == "agent"
        expect(is_asked, "no asks for a person on a stage without a state: people answer its page", wanted)


def replies_are_counted_beforehand(trial: Trial) -> None:
    """No agent replies more often than `most_replies` says."""
    play = trial.straight()
    most = None if play.parts.questions is None else play.parts.questions.most_replies()
    asked = Counter(one.ask.member_id for one in play.asked if one.view.me.player == "agent")
    if most is not None and asked:
        expect(max(asked.values()) <= most, f"at most {most} replies of one member", max(asked.values()))


def answers_are_stored_as_they_are(trial: Trial) -> None:
    """A value of the reply's shape, or of the form, is an answer; what is stored passes `check` unchanged."""
    play = trial.straight()
    questions = play.parts.questions
    if questions is None:
        return
    expect(bool(play.asked), "`due` to ask something", "no member was asked anything")
    for one in play.asked:
        again = one.question.check(one.stored)
        expect(again == one.stored, f"{one.stored!r} to pass again as it is stored", again)
        written = one.question.written(one.stored)
        expect(isinstance(written, str), "`written` to be a text", written)


def questions_have_a_task_and_a_shape(trial: Trial) -> None:
    """Every question has a task, a strict shape of its reply, and hints that are JSON."""
    for one in trial.straight().asked:
        model, hints = one.question.reply_model(), one.question.hints()
        expect(one.question.task().strip() != "", f"a task for {one.ask.key!r}", "none")
        expect(
            is_strict(model), f"{model.__name__}: all fields required, no default, no others", model.model_json_schema()
        )
        expect(is_json(hints), "hints of plain JSON", hints)
        expect(one.question.news() != "", "news, or None where all of the page is to be read", "an empty text")


def without_an_answer_there_is_an_end(trial: Trial) -> None:
    """A question without a usable answer has a defined end."""
    unusable = UnusableReply("Well.", None, "the reply is not a JSON object")
    for one in trial.straight().asked:
        for replies in ([], [unusable], [unusable, UnusableReply("{}", {}, "a field is missing")]):
            found = one.question.without_answer(replies)
            if isinstance(found, Substitute):
                expect(is_json(found.value), "a substitute of plain JSON", found)
                expect(found.missing is None or all(found.missing.values()), "reasons for what is missing", found)
            else:
                expect(found == "drop", "a Substitute or 'drop'", found)


def texts_are_read_or_refused(trial: Trial) -> None:
    """A text is read as fields of the reply, or refused with a reason."""
    for one in trial.straight().asked:
        for text in ("", "Well.", '{"'):
            try:
                fields = one.question.read_text(text)
            except InvalidInput as refused:
                expect(str(refused).strip() != "", f"a reason why {text!r} is no reply", "none")
            else:
                known = set(one.question.reply_model().model_fields)
                expect(fields is None or set(fields) <= known, f"fields among {sorted(known)}", fields)


def forms_have_titles(trial: Trial) -> None:
    """Every form is a JSON Schema with a title for each field."""
    for one in trial.straight().asked:
        form = one.question.form()
        schema = form.json_schema()
        expect(is_json(schema), "a form of plain JSON", schema)
        if form.is_bare:
            expect(
                len(form.fields) == 1 and bool(schema.get("title")), "a bare form with one field and its title", schema
            )
            continue
        expect(list(schema["properties"]) == [field.name for field in form.fields], "each field of a form once", schema)
        for name, part in schema["properties"].items():
            expect(bool(part.get("title")), f"a title for the field {name!r} of {one.ask.key!r}", part)


def what_a_form_describes_is_taken(trial: Trial) -> None:
    """An answer made from the form alone is valid; of fields that go together, one that `hints` suggest."""
    for one in trial.straight().asked:
        stored = made_answer(one.question, trial.rng(), key=one.ask.key, is_person=True)
        again = one.question.check(stored)
        expect(again == stored, f"{stored!r} to pass again as it is stored", again)


def wrong_values_are_refused_at_their_field(trial: Trial) -> None:
    """A value beyond a field's type or bounds is refused at that field, or dropped where the field is optional."""
    for number, one in enumerate(trial.straight().asked):
        for name, is_needed, value, given in wrong_answers(one, Random(trial.seed + number)):
            found = outcome(one.question, name, given)
            is_right = found == "refused at its field" or (found == "not kept" and not is_needed)
            expect(is_right, f"{value!r} in the field {name!r} of {one.ask.key!r} to be refused at it", found)


def wrong_answers(one: Asked, rng: Random) -> Iterator[tuple[str, bool, Any, Any]]:
    """Answers with one wrong field: its name, whether it is required, the wrong value, and the answer."""
    form: Form = one.question.form()
    given = filled(form, rng)
    for field in (field for field in form.fields if form.is_bare or field.name in given):
        for value in wrong_values(field.schema):
            yield field.name, field.is_required, value, value if form.is_bare else {**given, field.name: value}


def wrong_values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """A value of another type, and one beyond each bound."""
    yield {"no": "value"}
    options = [option["const"] for option in schema.get("items", schema).get("oneOf", ())]
    if options and schema["type"] == "string":
        yield "no such option"
    if "const" in schema:
        yield not schema["const"]
    yield from (schema[bound] + step for bound, step in (("minimum", -1), ("maximum", 1)) if bound in schema)
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if schema.get("minLength"):
        yield "x" * (schema["minLength"] - 1)
    if schema.get("minItems"):
        yield []
    if len(options) > schema.get("maxItems", len(options)):
        yield options


def outcome(question: Question, name: str, answer: Any) -> str:
    """The outcome of an answer with this wrong field."""
    try:
        stored = question.check(answer)
    except InvalidInput as refused:
        places = {problem.where for problem in refused.problems}
        return "refused at its field" if name in places else f"refused at {', '.join(sorted(places)) or 'no field'}"
    return "not kept" if isinstance(stored, Mapping) and stored.get(name) is None else f"taken, as {stored!r}"


def later_draws_only_extend(trial: Trial) -> None:
    """A later draw only extends an earlier one, and keeps what is drawn before any member comes."""
    play = trial.play()
    draws = play.parts.draws
    if draws is None:
        return
    members = [one for one in play.lab().members if one.kind == "participant"]
    beginnings = {language: draws.beginning(Random(1), language) for language in get_args(NameLanguage)}
    for before in ({}, *beginnings.values()):
        first = draws.draw(members[:1], before, Random(trial.seed))
        kept = copy.deepcopy(first)
        later = draws.draw(members, first, Random(trial.seed + 1))
        expect(is_json(later), "what is drawn to be plain JSON", later)
        expect(first == kept, f"the earlier draw left as it was: {kept}", first)
        changed = {name: later.get(name) for name in first if later.get(name) != first[name]}
        expect(not changed, f"all of {first} to stay when a member comes", changed)
        again = draws.draw(members, later, Random(trial.seed + 2))
        redrawn = {name: again.get(name) for name in later if again.get(name) != later[name]}
        expect(not redrawn, f"all of {later} to stay when nobody has come", redrawn)
        missing = {name: first.get(name) for name in before if first.get(name) != before[name]}
        expect(not missing, f"what the draws begin with to stay: {before}", missing)
    for language, once in beginnings.items():
        twice = draws.beginning(Random(1), language)
        expect(twice == once, f"the same beginning twice: {once}", twice)


def who_is_alone_depends_on_no_other(trial: Trial) -> None:
    """Where each is alone, the state is empty, and what is drawn for a member is the same with any others."""
    play = trial.play()
    if not play.parts.is_each_alone:
        return
    view = play.lab()
    if play.parts.state is not None:
        state = play.parts.state(view)
        expect(state == {}, "an empty state, since each is alone", state)
    draws = play.parts.draws
    if draws is not None:
        members = [one for one in view.members if one.kind == "participant"]
        apart: dict[str, Any] = {}
        for member in members:
            apart = draws.draw([member], apart, Random(trial.seed))
        together = draws.draw(members, {}, Random(trial.seed))
        expect(apart == together, f"the same draws one by one as for all: {together}", apart)
