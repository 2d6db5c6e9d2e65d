"""An object that means one answer is read as that answer or refused, in whatever forms a model wraps it."""

import json
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from parley_lab.agent_worker.models.completions import judge
from parley_lab.base.replies import Reply, Text, Truth, option, own_words, read, whole_number
from parley_lab.kinds.chat.replies import TalkReply

WORDS = {"y": "I agree", "n": "I do not agree", "m": "Perhaps"}


class Page(Reply):
    trams: whole_number(Field(ge=0, le=10), "How many trams, in dollars?")  # type: ignore[valid-type]
    vote: option(WORDS)  # type: ignore[valid-type]
    sure: Truth
    why: Text


FIELDS = tuple(Page.model_fields)
ANSWERS = st.fixed_dictionaries(
    {
        "trams": st.integers(0, 10),
        "vote": st.sampled_from(sorted(WORDS)),
        "sure": st.booleans(),
        "why": st.sampled_from(["Nurses.", "Note: late {people}.", 'He said "8".', "Two\nlines.", "I think so."]),
    }
)
Values = dict[str, Any]
Form = Callable[[str, str], str]

TRAMS: list[Callable[[int], object]] = [
    *(lambda n: n, lambda n: str(n), lambda n: float(n), lambda n: f"**{n}**", lambda n: f"Answer: {n}", lambda n: [n]),
    *(lambda n: f"{n}/10", lambda n: f"${n}", lambda n: f"{n} trams", lambda n: f"\\boxed{{{n}}}", lambda n: f"({n})"),
    lambda n: "".join(chr(0x660 + int(digit)) for digit in str(n)),
    *(lambda n: {"value": n, "reason": "SECRET"}, lambda n: f"{n} (quite a few)"),
]
VOTES: list[Callable[[str], object]] = [
    *(lambda one: one, lambda one: WORDS[one], lambda one: f"{one} ({WORDS[one]})", lambda one: [one], str.upper),
    *(lambda one: f"**{WORDS[one]}**", lambda one: f"{one})", lambda one: {"id": one, "text": WORDS[one]}),
]
SURE: list[Callable[[bool], object]] = [lambda is_so: is_so, int, str, lambda is_so: "yes" if is_so else "no"]
SURE += [lambda is_so: "Yes, I am." if is_so else "No, never."]
WHY: list[Callable[[str], object]] = [
    *(lambda said: said, lambda said: f"<think>SECRET</think>{said}", lambda said: f"SECRET</think>{said}"),
    *(lambda said: f"&lt;think&gt;SECRET&lt;/think&gt;{said}", lambda said: f"<!-- SECRET -->{said}"),
    *(lambda said: f"Thought: SECRET\nAnswer: {said}", lambda said: f"**Analysis**\nSECRET\n\n**Answer**\n{said}"),
    lambda said: f"```thinking\nSECRET\n```\n{said}",
]
FORMS: dict[str, list[Callable[[Any], object]]] = {"trams": TRAMS, "vote": VOTES, "sure": SURE, "why": WHY}
OBJECTS: list[Callable[[Values], Values]] = [
    *(lambda given: given, lambda given: {**given, "mood": "calm"}, lambda given: {"answer": given}),
    *(
        lambda given: {"properties": given},
        lambda given: {"Page": {"reply": given}},
        lambda given: {**given, "extra": {}},
    ),
    *(
        lambda given: {name.upper(): value for name, value in given.items()},
        lambda given: dict(reversed(given.items())),
    ),
    lambda given: {"answers": [{"question": name, "answer": value} for name, value in given.items()]},
]
# What is around the object; the draft is another whole object.
TEXTS: list[Form] = [
    *(lambda said, _: said, lambda said, _: f"```json\n{said}\n```", lambda said, _: f"Here you are:\n{said}\nBye."),
    *(
        lambda said, draft: f"<think>SECRET {draft}</think>{said}",
        lambda said, draft: f"SECRET {draft}</think>\n{said}",
    ),
    *(lambda said, draft: f"[THINK]{draft}[/THINK]{said}", lambda said, draft: f"First: {draft}\nNo: {said}"),
    *(
        lambda said, draft: f"```json\n{draft}\n```\nBetter:\n```json\n{said}\n```",
        lambda said, _: f"\ufeff{said}\u200b",
    ),
    lambda said, draft: f"<|channel|>analysis<|message|>{draft}<|end|><|channel|>final<|message|>{said}",
    lambda said, draft: f"<think>{draft}<think>SECRET</think>{said}",
    lambda said, draft: f"<!-- SECRET {draft} -->{said}",
    lambda said, draft: f"&lt;think&gt;{draft}&lt;/think&gt;{said}",
    lambda said, draft: f"```thinking\n{draft}\n```\n{said}",
    lambda said, draft: f"Thought: SECRET {draft}\n{said}",
    lambda said, draft: f"{said}\n\nReasoning: SECRET {draft}",
    lambda said, draft: f"**Thought:** SECRET {draft}\n\n**Answer:** {said}",
    lambda said, draft: f"<think>{draft} and {said}",
    lambda said, _: f"{said[:-1]},}}",
]


CUT: list[Form] = [lambda said, _: said[: len(said) // 2], lambda said, draft: f"{draft}\n{said[: len(said) - 2]}"]
"""Only around the object itself: a thought that is cut off before its closing tag alone is not known for one."""


@settings(max_examples=600)
@given(ANSWERS, ANSWERS, st.data())
def test_a_reply_is_read_as_what_it_means_or_refused(meant: Values, draft: Values, data: st.DataObject) -> None:
    written = {name: data.draw(st.sampled_from(FORMS[name]), name)(value) for name, value in meant.items()}
    whole = data.draw(st.sampled_from(OBJECTS), "object")(written)
    text = json.dumps(whole, ensure_ascii=data.draw(st.booleans()))
    for number in range(data.draw(st.integers(0, 2), "layers")):
        text = data.draw(st.sampled_from(TEXTS if number else [*TEXTS, *CUT]), f"layer {number}")(
            text, json.dumps(draft)
        )

    status, parsed, _ = judge(text, "", "stop", FIELDS)
    try:
        found = read(Page, parsed).model_dump() if status == "ok" else None
    except ValidationError:
        found = None

    assert found in (None, meant)


@given(ANSWERS, st.data())
def test_every_single_form_of_a_field_is_read(meant: Values, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FIELDS))
    written = {**meant, name: data.draw(st.sampled_from(FORMS[name]))(meant[name])}

    _, parsed, _ = judge(json.dumps(written), "", "stop", FIELDS)

    assert read(Page, parsed).model_dump() == meant


class Vote(Reply):
    vote: option(WORDS)  # type: ignore[valid-type]


OTHER_NAMES = st.sampled_from(["vote", "choice", "decision", "selected", "answer", "value", "option", "action"])


@given(st.permutations(sorted(WORDS)), st.booleans(), OTHER_NAMES, OTHER_NAMES, st.data())
def test_one_answer_under_other_names_is_read_as_that_or_refused(
    options: list[str], are_equal: bool, name: str, second: str, data: st.DataObject
) -> None:
    meant, other = options[0], options[0] if are_equal else options[1]
    forms = st.sampled_from(VOTES)
    written = {second: data.draw(forms, "second")(other), name: data.draw(forms, "first")(meant)}
    draft = json.dumps({"vote": other})
    text = data.draw(st.sampled_from(TEXTS), "around")(json.dumps(written), draft)

    status, parsed, _ = judge(text, "", "stop", ("vote",))
    try:
        found = read(Vote, parsed).vote if status == "ok" else None
    except ValidationError:
        found = None

    assert found in ((None, meant) if are_equal or name == second else (None,))


LINES = st.lists(
    st.sampled_from(
        [
            *("I am for it.", "Ana: I am.", "Ben: SECRET", "<think>SECRET</think>", "**Ben:** SECRET", "Note: so."),
            *("<Ben> SECRET", "> Ben: SECRET", "### Ben\nSECRET", "Ben (10:05): SECRET", "**Ben** \u2013 SECRET"),
            *('"Ben": "SECRET"', "Thought: SECRET", "**Reasoning:** SECRET", "<!-- SECRET -->", "Answer: so."),
        ]
    ),
    min_size=1,
    max_size=4,
)


@given(LINES, st.data())
def test_no_thought_and_no_line_of_another_reaches_a_conversation(lines: list[str], data: st.DataObject) -> None:
    said = json.dumps({"explanation": "SECRET", "shouldRespond": True, "response": "\n".join(lines)})
    text = data.draw(st.sampled_from(TEXTS))(said, json.dumps({"shouldRespond": True, "response": "SECRET"}))

    status, parsed, _ = judge(text, "", "stop", ("shouldRespond", "response"))
    try:
        reply = read(TalkReply, parsed) if status == "ok" else None
    except ValidationError:
        reply = None

    assert reply is None or "SECRET" not in own_words(reply.response, ["Ana"], ["Ben"]).text


def test_a_plain_reply_is_read_in_a_tenth_of_a_millisecond() -> None:
    """The best of several rounds, since other processes use the machine, too."""
    text = json.dumps(
        {"explanation": "So. " * 20, "shouldRespond": True, "response": "Ana, " * 60, "readyToEndChat": False}
    )
    fields = ("explanation", "shouldRespond", "response", "readyToEndChat")

    def seconds() -> float:
        began = process_time()
        for _ in range(100):
            _, parsed, _ = judge(text, "", "stop", fields)
            own_words(read(TalkReply, parsed).response, ["Ana"], ["Ben", "Cleo"])
        return (process_time() - began) / 100

    assert min(seconds() for _ in range(20)) < 0.0001


@pytest.mark.parametrize("form", ['"{0}": "value {1}"', "'{0}': {1}", "{0}: {1}"])
def test_a_broken_object_with_thousands_of_names_takes_no_seconds(form: str) -> None:
    text = "{" + ", ".join(form.format(f"name_{number}", number) for number in range(3_000)) + ",}"
    began = process_time()

    status, parsed, _ = judge(text, "", "stop", ())

    assert (status, len(parsed or {})) == ("ok", 3_000)
    assert process_time() - began < 4


def test_a_broken_object_without_an_end_in_sight_is_not_repaired() -> None:
    assert judge('{"why": "' + "So. " * 100_000 + '",}', "", "stop", ())[0] == "invalid"
