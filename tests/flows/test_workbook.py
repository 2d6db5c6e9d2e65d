"""Workbooks, run to their end: who is asked what when, and who hears what."""

import re
from random import Random

import pytest

from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.formats.testing.workbooks import base_values, sheets_of, task_row, with_setting
from parley_lab.formats.workbook import compile_designs, compile_workbook, estimates, read, read_xlsx
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.interviewing import DEMO, PLAYERS, Telling, all_of, document, heard, kept, roles, run, small, statuses

pytestmark = pytest.mark.postgres


async def test_everybody_hears_what_the_type_of_each_task_lets_them_hear(database: Database) -> None:
    lab = await run(database, small(), Telling())

    found = await heard(lab)

    names = await roles(lab)
    first, second, third = (names[f"c1/m{number}"] for number in (1, 2, 3))
    talk = all_of("talk", *PLAYERS, "Summarizer")
    assert [found[role, "talk"] for role in (first, second, third, "Summarizer")] == [
        set(),
        all_of("talk", first),
        all_of("talk", first, second),
        all_of("talk", *PLAYERS),
    ]
    assert (found["B", "open"], found["A", "open"]) == (talk, talk | all_of("open", "B"))
    before = talk | all_of("open", "A", "B")
    assert [found[role, "closed"] for role in PLAYERS] == [before] * 3
    assert found["Summarizer", "closed"] == before | all_of("closed", "C", "A")
    after = before | all_of("closed", *PLAYERS, "Summarizer")
    assert [found[role, "last"] for role in PLAYERS] == [after] * 3


async def test_the_facilitator_speaks_the_sheet_and_is_asked_nothing(database: Database) -> None:
    model = Telling()
    lab = await run(database, small(), model)

    asked = await lab.rows("SELECT DISTINCT m.path FROM asks k JOIN members m ON m.id = k.member_id")
    names = await roles(lab)

    assert {names[row.path] for row in asked} == {*PLAYERS, "Summarizer"}
    prompts = [request.messages[1].content for request in model.requests if "/task:last/" in request.path]
    assert all("[from Facilitator] It has begun to rain." in prompt for prompt in prompts)
    assert all("Facilitator asks you: And now?" in prompt for prompt in prompts)


async def test_a_system_message_has_context_treatment_profile_and_role_in_this_order(database: Database) -> None:
    model = Telling()
    lab = await run(database, small(), model)

    names = await roles(lab)
    request = next(one for one in model.requests if one.path.startswith("c1/m1/"))
    system = request.messages[0].content
    parts = ["A game is played.", "You play as you like.", "Me: 31", f"You are player {names['c1/m1']}."]
    assert sorted(parts, key=system.index) == parts
    summarizer = next(one for one in model.requests if "/med" in one.path)
    assert "Interviewer" not in summarizer.messages[0].content


@pytest.mark.parametrize("seed", quick_first(range(3), 1))
async def test_shuffled_and_doubled_hints_change_no_answer_and_no_prompt(database: Database, seed: int) -> None:
    plain = await run(database, small(), Telling())
    expected = await heard(plain), await kept(plain)
    await empty(database)
    wild = DrainLab(database, models={"mock": Telling()}, deliveries=2, together=5, rng=Random(seed))

    await wild.start(small())
    await wild.drain()

    assert (await heard(wild), await kept(wild)) == expected


GIVEN = {"P1": [3, 4, 0], "P2": [3, 2, 0], "P3": [5, 5, 0], "P4": [6, 5, 0]}
"""What each player answers, one after another."""


class Payer(Telling):
    """Players give what `GIVEN` says; the summarizer pays out by what its prompt shows, and by nothing else."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        shown = request.messages[1].content
        if "/med" in request.path:
            said = self._paid_out(shown)
        else:
            role = re.search(r"You are player (P\d)", request.messages[0].content)
            assert role is not None
            said = str(GIVEN[role[1]][len(re.findall(rf"^\[from {role[1]}\] \d+$", shown, re.MULTILINE))])
        self.requests.append(request)
        return ModelReply(status="ok", parsed={"response": said}, raw=said)

    def _paid_out(self, shown: str) -> str:
        """Ten for each, what was given is doubled and shared by four; over all rounds."""
        seen = {
            role: [int(one) for one in re.findall(rf"^\[from {role}\] (\d+)$", shown, re.MULTILINE)] for role in GIVEN
        }
        shares = [2 * sum(given) / 4 for given in zip(*seen.values(), strict=True)]
        return "Earned: " + ", ".join(
            f"{role} {sum(10 - one + share for one, share in zip(given, shares, strict=True)):g}"
            for role, given in seen.items()
        )


async def test_a_summarizer_pays_out_from_the_round_that_is_on_and_everybody_hears_it_afterwards(
    database: Database,
) -> None:
    model = Payer()

    await run(database, two_rounds_and_a_summarizer(), model)

    first = "[from Summarizer] Earned: P1 15.5, P2 15.5, P3 13.5, P4 12.5"
    second = "[from Summarizer] Earned: P1 29.5, P2 31.5, P3 26.5, P4 25.5"
    assert len(model.requests) == 5 + 5 + 4
    for request in model.requests:
        task = request.path.partition("/task:")[2].split("/")[0]
        assert (first in request.messages[1].content) is (task != "first")
        assert (second in request.messages[1].content) is (task == "belief")


def two_rounds_and_a_summarizer() -> str:
    values = with_setting(base_values(), max_conversation_length=1000, num_agents_per_session=4, num_sessions=3)
    roles = values["agent_roles"][:2]
    values["agent_roles"] = [*roles, *([role, f"You are player {role}."] for role in GIVEN), ["Summarizer", "You pay."]]
    asked = str({**dict.fromkeys(GIVEN, "How much do you give?"), "Summarizer": "Who has earned what?"})
    values["interview_prompts"][2:] = [
        task_row("first", task_order=1, llm_text=asked),
        task_row("second", task_order=2, llm_text=asked),
        task_row("belief", task_order=3, llm_text="How much did you earn?"),
    ]
    (experiment,) = compile_workbook(read(sheets_of(values)), sessions=1)
    return document(experiment)


async def test_the_demo_runs_to_its_end_with_the_mock(database: Database) -> None:
    lab = DrainLab(database)
    compiled = compile_designs(read(read_xlsx(DEMO.read_bytes(), DEMO.name)))
    for one in compiled:
        await lab.start(document(one.experiment))

        await lab.drain()

    pages = await lab.rows("SELECT value FROM answers WHERE key = ''")
    rounds = [f"contribution_{number}" for number in range(1, 6)]
    assert len(pages) == 2 * 2 * 4
    for row in pages:
        assert set(row.value) == {"role", "quiz_pot", "quiz_share", "quiz_keep", "talk", *rounds, "belief"}
        assert all(isinstance(row.value[one]["value"], int) for one in rounds)
        assert all(row.value[one]["value"] in range(11) for one in rounds[::2])
        assert 0 <= row.value["belief"]["value"] <= 1
    assert await statuses(lab) == {"completed"}
    calls = await lab.rows("SELECT count(*) AS calls FROM model_calls")
    assert calls[0].calls == 2 * 2 * (3 * 4 + 5 + 5 * 5 + 4)
    assert {session.chain for one in compiled for session in estimates(one)} == {3 * 4 + 5 + 5 * 2 + 1}
    assert calls[0].calls == sum(session.calls for one in compiled for session in estimates(one))
