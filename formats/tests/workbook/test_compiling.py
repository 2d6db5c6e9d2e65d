"""What becomes of a workbook: cohorts, seats, mediators, treatments and one interview."""

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.endpoints import OPEN
from parley_lab.contracts.real_models import keyless_addresses, model_mode_problems
from parley_lab.design import models_used
from parley_lab.formats.testing.workbooks import (
    Values,
    base_values,
    problems_of,
    task_row,
    with_setting,
    with_tasks,
    workbook_of,
)
from parley_lab.formats.workbook import compile_workbook
from parley_lab.formats.workbook.compiling import compile_designs
from parley_lab.formats.workbook.facts import WorkbookFacts
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions


def interview(values: Values) -> GroupInterviewStage:
    (experiment,) = compile_workbook(workbook_of(values))
    (stage,) = experiment.stages
    assert isinstance(stage, GroupInterviewStage)
    return stage


def test_sessions_are_cohorts_of_personas_under_their_treatment() -> None:
    (experiment,) = compile_workbook(workbook_of(base_values()))

    assert [cohort.treatment for cohort in experiment.cohorts] == ["ctl", "ctl", "trt", "ctl"]
    personas = {persona.id: persona for persona in experiment.personas}
    first = [personas[seat.persona or ""] for seat in experiment.cohorts[0].seats]
    assert [(one.attributes["ID"], one.profile.name) for one in first] == [("11", "C"), ("10", "A"), ("1", "B")]
    assert experiment.cohorts[0].mediators == ("facilitator",)


def test_every_permutation_is_an_experiment_called_as_its_files_are() -> None:
    values = base_values()
    values["constants"].append(["a", "['x', 'y']"])

    assert [one.name for one in compile_workbook(workbook_of(values))] == ["demo_1", "demo_2"]


def test_agents_are_asked_five_times_in_all_with_the_models_temperature() -> None:
    (experiment,) = compile_workbook(workbook_of(base_values()))

    model = experiment.personas[0].model
    assert (model.provider, model.model, model.temperature, model.max_attempts) == ("openai", "gpt-4o-mini", 0.5, 5)


@pytest.mark.parametrize("name", ["gpt-4.1", "gpt-5-chat-latest", "llama-o3", "hf-inference"])
def test_other_models_are_called_with_the_temperature(name: str) -> None:
    settings = {"model_info": name, "temperature": 0.5, "api_endpoint": "https://here.example/v1"}

    (experiment,) = compile_workbook(workbook_of(with_setting(base_values(), **settings)))

    assert experiment.personas[0].model.temperature == 0.5


@pytest.mark.parametrize("name", ["o1", "o3", "o4-mini", "gpt-5", "gpt-5-mini-2025-08-07", "gpt-5.4", "openai/gpt-5"])
def test_models_that_take_no_temperature_get_none(name: str) -> None:
    (experiment,) = compile_workbook(workbook_of(with_setting(base_values(), model_info=name)))

    assert experiment.personas[0].model.temperature is None


@pytest.mark.parametrize(
    ("name", "told"), [("gpt-4", "text"), ("gpt-4-turbo", "text"), ("gpt-3.5-turbo", "text"), ("gpt-4o", "schema")]
)
def test_models_that_refuse_schemas_are_told_in_words(name: str, told: str) -> None:
    (experiment,) = compile_workbook(workbook_of(with_setting(base_values(), model_info=name)))

    assert {persona.model.structured_output for persona in experiment.personas} == {told}


def test_an_inference_endpoint_never_gets_the_key_of_openai() -> None:
    values = with_setting(base_values(), model_info="hf-inference", api_endpoint="https://models.example/v1")

    (experiment,) = compile_workbook(workbook_of(values))

    model = experiment.personas[0].model
    assert (model.provider, model.base_url) == ("hf-inference", "https://models.example/v1")
    assert model.structured_output == "text"
    environ = {"OPENAI_API_KEY": "sk-of-openai", "HF_API_KEY": "hf_of_hugging_face"}
    assert model_mode_problems("real", models_used(experiment), environ, endpoints=OPEN) == []
    assert "No key goes to https://models.example/v1" in "".join(keyless_addresses(models_used(experiment), environ))


def test_an_endpoint_of_hugging_face_needs_its_key() -> None:
    address = "https://abc.eu-west-1.aws.endpoints.huggingface.cloud/v1"
    values = with_setting(base_values(), model_info="hf-inference", api_endpoint=address)
    (experiment,) = compile_workbook(workbook_of(values), sessions=1)

    (problem,) = model_mode_problems("real", models_used(experiment), {"OPENAI_API_KEY": "any text"}, endpoints=OPEN)

    assert "HF_API_KEY is not set" in problem
    assert keyless_addresses(models_used(experiment), {}) == []


def test_a_persona_at_an_inference_endpoint_must_say_where_it_is() -> None:
    values = with_setting(base_values(), model_info="hf-inference", api_endpoint="https://models.example/v1")
    (experiment,) = compile_workbook(workbook_of(values), sessions=1)
    nowhere = [
        persona.model_copy(update={"model": persona.model.model_copy(update={"base_url": None})})
        for persona in experiment.personas[:2]
    ]
    changed = experiment.model_copy(update={"personas": (*nowhere, *experiment.personas[2:])})

    environ = {"HF_API_KEY": "any text"}
    (problem,) = model_mode_problems("real", models_used(changed), environ, endpoints=OPEN)

    assert "`model.base_url`" in problem
    assert all(repr(persona.id) in problem for persona in nowhere)
    assert model_mode_problems("real", models_used(experiment), environ, endpoints=OPEN) == []


def test_fewer_sessions_change_nothing_of_those_that_are_left() -> None:
    (everything,) = compile_workbook(workbook_of(base_values()))
    (some,) = compile_workbook(workbook_of(base_values()), sessions=2)

    assert some.cohorts == everything.cohorts[:2]


def test_people_take_the_seats_of_the_roles_that_are_named() -> None:
    (experiment,) = compile_workbook(workbook_of(base_values()), people=["A"])

    assert [seat.open for seat in experiment.cohorts[0].seats] == [False, True, False]
    assert all(sum(seat.open for seat in cohort.seats) == 1 for cohort in experiment.cohorts)


def test_people_take_single_seats_and_those_of_special_roles() -> None:
    values = base_values()
    values["agent_roles"].append(["Summarizer", "You sum up."])
    (experiment,) = compile_workbook(workbook_of(values), people=["0/A", "1/Summarizer"])

    assert [sum(seat.open for seat in cohort.seats) for cohort in experiment.cohorts] == [1, 1, 0, 0]
    assert [len(cohort.seats) for cohort in experiment.cohorts] == [3, 4, 3, 3]
    assert [len(cohort.mediators) for cohort in experiment.cohorts] == [2, 1, 2, 2]


def test_braces_that_are_left_in_a_text_are_shown_as_they_are() -> None:
    values = with_tasks(task_row("t1", llm_text="Say {{ '{{name}}' }}!"))

    (experiment,) = compile_workbook(workbook_of(values))

    assert experiment.variables["open_braces"] == "{{"
    stage = interview(values)
    assert stage.tasks[0].questions[0].text == "Say {{open_braces}}name}}!"


def test_ids_of_tasks_that_read_alike_stay_apart() -> None:
    values = with_tasks(task_row("Task 1"), task_row("task-1"), task_row("n2-task-1"), task_row("???"))

    stage = interview(values)

    assert len({task.id for task in stage.tasks}) == 4
    assert [task.variable for task in stage.tasks] == ["Task 1", "task-1", "n2-task-1", "???"]


def test_the_length_of_the_conversation_limits_replies() -> None:
    assert interview(with_setting(base_values(), max_conversation_length=33)).max_replies == 33


def test_an_experiment_keeps_what_only_its_workbook_says_in_the_order_of_the_sheets() -> None:
    task = task_row("Q 1", var_name="give", is_adapted=1, human_text="How much did you give?", format_response=1)
    values = with_tasks(task)
    values["constants"] += [["zeta", "['x', 'y']"], ["a", 5]]

    first, second = compile_workbook(workbook_of(values), sessions=1)

    assert first.source is not None
    assert second.source is not None
    assert first.source.format == "workbook"
    facts = WorkbookFacts.model_validate(second.source.facts)
    assert [(one.name, one.value) for one in facts.constants] == [("zeta", "y"), ("a", 5)]
    assert [(one.id, one.task_id, one.var_name) for one in facts.tasks] == [
        ("", "t0", "context"),
        ("q-1", "Q 1", "give"),
    ]
    assert (facts.tasks[1].is_adapted, facts.tasks[1].human_text) == (True, "How much did you give?")
    assert [(one.session, one.what, one.seed) for one in facts.assignments] == [
        ("0", "agents", "42"),
        ("0", "treatment", "42"),
        ("0", "roles", "42"),
        ("0", "tasks", "42"),
    ]


@pytest.mark.parametrize("name", ["ID", "played_by", "constant.a"])
def test_a_variable_that_is_called_like_another_column_of_the_results_is_a_problem(name: str) -> None:
    (problem,) = problems_of(with_tasks(task_row("t1", var_name=name)))

    assert (problem.where, problem.found) == ("interview_prompts!G3", repr(name))


def with_roles_by_hand(roles: dict[str, str], seed: int = 42) -> Values:
    """The base workbook with a column of roles, and sessions that are drawn."""
    values = with_setting(base_values(), role_assignment_strategy="manual", role_column="role", random_seed=seed)
    values["agent_profiles"][0].append("role")
    values["agent_profiles"][1].append("role")
    for row in values["agent_profiles"][2:]:
        row.append(roles[str(row[0])])
    return values


def drawn_roles() -> dict[str, str]:
    """Roles that go together as sessions are drawn with seed 42: each once in every session."""
    (compiled,) = compile_designs(workbook_of(base_values()))
    return {
        seat.profile.id: label
        for session in compiled.sessions
        for seat, label in zip(session.seats, "ABC", strict=True)
    }


def test_roles_by_hand_go_with_sessions_that_are_drawn_when_each_role_is_there_once() -> None:
    (compiled,) = compile_designs(workbook_of(with_roles_by_hand(drawn_roles())))

    assert all(sorted(seat.role.label for seat in session.seats) == ["A", "B", "C"] for session in compiled.sessions)
    assert {seat.profile.id: seat.role.label for one in compiled.sessions for seat in one.seats} == drawn_roles()


def test_a_draw_in_which_a_role_is_double_is_an_error_that_names_the_cells() -> None:
    roles = drawn_roles()
    (compiled,) = compile_designs(workbook_of(base_values()))
    first, second, _ = (seat.profile for seat in compiled.sessions[0].seats)

    with pytest.raises(InvalidInput) as refused:
        compile_workbook(workbook_of(with_roles_by_hand({**roles, second.id: "A"})))

    (problem,) = refused.value.problems
    assert problem.where == f"agent_profiles!D{second.row}"
    assert f"agent_profiles!D{first.row}" in problem.wrong
    assert problem.wrong.index("B") < problem.wrong.index("is missing")


def test_options_of_a_discussion_reach_those_who_talk() -> None:
    values = with_tasks(
        task_row("filled", type="discussion", llm_text="Choose: {response_options} Talk.", response_options="[1, 2]"),
        task_row("below", type="discussion", llm_text="Talk.", response_options="['x', 'y']"),
    )

    (experiment,) = compile_workbook(workbook_of(values))

    stage = experiment.stages[0]
    assert isinstance(stage, GroupInterviewStage)
    filled, below = (task.text for task in stage.tasks)
    assert filled == "Choose: Answer with one of these: 1, 2. Talk."
    assert below == "Talk.\nAnswer with one of these: x, y."


def test_options_by_role_of_a_discussion_are_told_to_their_role() -> None:
    values = with_tasks(
        task_row(
            "own", type="discussion", llm_text="Talk. {response_options}", response_options="{'A': [1, 2], 'B': (3, 5)}"
        ),
    )

    (experiment,) = compile_workbook(workbook_of(values))

    stage = experiment.stages[0]
    assert isinstance(stage, GroupInterviewStage)
    (task,) = stage.tasks
    assert (task.text.strip(), task.options) == ("Talk.", None)
    assert {one.role: one.options for one in task.role_options} == {
        "A": ListOptions(values=(1, 2)),
        "B": RangeOptions(low=3, high=5),
    }


def test_options_of_a_discussion_are_shuffled_where_the_workbook_says_so() -> None:
    values = with_tasks(
        task_row(
            "shuffled",
            type="discussion",
            llm_text="Choose: {response_options}",
            response_options="[1, 2]",
            randomize_response_order=1,
        ),
    )

    (experiment,) = compile_workbook(workbook_of(values))

    stage = experiment.stages[0]
    assert isinstance(stage, GroupInterviewStage)
    (task,) = stage.tasks
    assert (task.text, task.options, task.randomize_options) == (
        "Choose: {response_options}",
        ListOptions(values=(1, 2)),
        True,
    )


def test_a_discussion_by_role_puts_its_texts_to_those_whom_it_names() -> None:
    values = with_tasks(task_row("talk", type="discussion", llm_text="{'C': 'Begin.', 'A': 'Go on.'}"))

    (experiment,) = compile_workbook(workbook_of(values, "parley"), draws="parley")

    stage = experiment.stages[0]
    assert isinstance(stage, GroupInterviewStage)
    (task,) = stage.tasks
    assert (task.type, task.text) == ("discussion", "")
    assert [(question.role, question.text) for question in task.questions] == [("C", "Begin."), ("A", "Go on.")]


@pytest.mark.parametrize("kind", ["context", "discussion", "public_question", "private_question"])
def test_options_that_cannot_be_read_are_reported_in_every_row(kind: str) -> None:
    problems = problems_of(with_tasks(task_row("t1", type=kind, response_options="[1, 2")))

    assert [problem.where for problem in problems] == ["interview_prompts!I3"]


@pytest.mark.parametrize("sheet", ["experimental_setting", "treatments", "agent_roles", "interview_prompts"])
def test_columns_may_stand_in_any_order(sheet: str) -> None:
    values = base_values()
    values[sheet] = [row[::-1] for row in values[sheet]]

    assert compile_workbook(workbook_of(values)) == compile_workbook(workbook_of(base_values()))
