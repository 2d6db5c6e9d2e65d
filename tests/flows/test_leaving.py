"""A member who has left a conversation knows nothing said there afterwards, not even in the same millisecond."""

import pytest

from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

# The clock of the lab does not move: all lines of the talk have one time.
STUDY = """
parley: 1
name: Leaving
seed: 1
personas:
  - {id: ada, mock: {lines: [Only words], after_lines: leave}}
  - {id: bob, mock: {lines: [B1, B2, B3, B4, B5]}}
  - {id: cid, mock: {lines: [C1, C2, C3, C4, C5]}}
stages:
  - {id: talk, kind: group_chat, max_agent_run: 10}
  - {id: after, kind: survey, questions: [{id: why, kind: text, title: "Why?"}]}
cohorts: [{seats: [{persona: ada}, {persona: bob}, {persona: cid}]}]
"""


async def test_lines_of_the_same_moment_are_cut_where_the_member_left(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(STUDY)

    await lab.drain()

    said = [(row.seq, row.text) for row in await lab.rows("SELECT seq, text FROM messages ORDER BY seq")]
    (goodbye,) = (seq for seq, text in said if text == "Participant 1 has left the chat.")
    later = [text for seq, text in said if seq > goodbye and text[0] in "BC"]
    (prompt,) = (str(call.prompt) for call in await lab.calls() if call.path.startswith("c1/m1/after/"))
    assert len({row.created_at for row in await lab.rows("SELECT created_at FROM messages")}) == 1
    assert later
    assert [text for text in later if f": {text}" in prompt] == []
    assert "Participant 1 has left the chat." in prompt
