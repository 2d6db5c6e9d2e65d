"""What a person reads is filled in for that person: own answers, and the values that they were given."""

from typing import Any

from parley_lab.gateway.testing import Api

STUDY: dict[str, Any] = {
    "stages": [
        {"id": "before", "kind": "survey", "questions": [{"id": "town", "kind": "text", "title": "Which town?"}]},
        {"id": "after", "kind": "info", "lines": ["{{word}}, so you live in {{answers.before.town}}."]},
    ],
    "assigned": [{"id": "word", "kind": "balanced", "values": ["Well", "Now"]}],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


async def test_a_page_has_the_readers_own_answers_and_values(api: Api) -> None:
    experiment_id = await api.running(**STUDY)
    read = {}
    for name, town in (("Ada", "{{word}}"), ("Bob", "Berg")):
        token = await api.join(experiment_id, name)
        await api.settle(experiment_id)
        page = (await api.advance(token, "before", {"town": town})).json()["page"]
        read[name] = page["view"]["lines"]

    assert read == {"Ada": ["Well, so you live in {{word}}."], "Bob": ["Now, so you live in Berg."]}
