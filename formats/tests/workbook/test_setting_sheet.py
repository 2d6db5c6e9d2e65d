"""The sheet of settings: temperature, seed, models and the id."""

from datetime import date

import pytest

from parley_lab.formats.testing.workbooks import base_values, design_of, only_problem, with_setting, workbook_of

# 10: temperature and seed


@pytest.mark.parametrize("temperature", [-1, 3, 2.01, "hot", None, True], ids=repr)
def test_a_temperature_outside_its_limits_is_rejected(temperature: object) -> None:
    assert only_problem(with_setting(base_values(), temperature=temperature)).where == "experimental_setting!B5"


@pytest.mark.parametrize(("temperature", "is_told"), [(0, True), (0.7, True), (1, False)])
def test_a_temperature_that_the_model_does_not_take_is_told(temperature: float, is_told: bool) -> None:
    workbook = workbook_of(with_setting(base_values(), model_info="o3", temperature=temperature))

    assert [warning.where for warning in workbook.warnings] == ["experimental_setting!B5"] * is_told


@pytest.mark.parametrize("temperature", [0, 2, 0.7, "0.7", "1"], ids=repr)
def test_a_temperature_within_its_limits_is_taken(temperature: object) -> None:
    design = design_of(with_setting(base_values(), temperature=temperature))

    assert design.settings.temperature == float(str(temperature))


@pytest.mark.parametrize(("typed", "seed"), [(None, 42), ("", 42), ("  ", 42), (7.0, 7), ("7", 7), (0, 0)], ids=repr)
def test_a_blank_seed_is_42(typed: object, seed: int) -> None:
    assert design_of(with_setting(base_values(), random_seed=typed)).settings.random_seed == seed


@pytest.mark.parametrize("typed", ["text", -1, 1.5, 2**32, True, date(2024, 1, 1)], ids=repr)
def test_a_seed_that_the_draws_cannot_take_is_rejected(typed: object) -> None:
    assert only_problem(with_setting(base_values(), random_seed=typed)).where == "experimental_setting!B15"


# models


def test_a_model_that_is_not_in_the_list_gives_a_warning() -> None:
    workbook = workbook_of(with_setting(base_values(), model_info="llama-9"))

    assert [warning.where for warning in workbook.warnings] == ["experimental_setting!B3"]
    assert workbook.designs[0].settings.model_info == "llama-9"


@pytest.mark.parametrize("endpoint", [None, "somewhere", "https://"])
def test_hf_inference_needs_an_endpoint(endpoint: str | None) -> None:
    values = with_setting(base_values(), model_info="hf-inference", api_endpoint=endpoint)

    assert only_problem(values).where == "experimental_setting!B4"


@pytest.mark.parametrize("model", ["hf-inference", "gpt-4o"])
@pytest.mark.parametrize(
    "endpoint", ["https://ann:hf_secret@models.example/v1", "https://models.example/v1?token=hf_secret"]
)
def test_an_endpoint_with_a_secret_in_it_is_a_problem_that_does_not_repeat_it(model: str, endpoint: str) -> None:
    problem = only_problem(with_setting(base_values(), model_info=model, api_endpoint=endpoint))

    assert problem.where == "experimental_setting!B4"
    assert "hf_secret" not in str(problem)


def test_the_endpoint_is_taken_for_hf_inference_only() -> None:
    address = "https://models.example/v1"
    used = design_of(with_setting(base_values(), model_info="hf-inference", api_endpoint=address))
    unused = workbook_of(with_setting(base_values(), api_endpoint=address))

    assert used.settings.api_endpoint == address
    assert unused.designs[0].settings.api_endpoint is None
    assert [warning.where for warning in unused.warnings] == ["experimental_setting!B4"]


@pytest.mark.parametrize("name", ["../etc", "a/b", ".hidden", "a" * 81, "x\ny"])
def test_an_id_that_is_no_file_name_is_rejected(name: str) -> None:
    assert only_problem(with_setting(base_values(), experiment_id=name)).where == "experimental_setting!B2"


@pytest.mark.parametrize(("typed", "name"), [(2024, "2024"), (3.0, "3"), (date(2024, 5, 1), "2024-05-01")], ids=repr)
def test_an_id_reads_as_it_was_typed(typed: object, name: str) -> None:
    assert workbook_of(with_setting(base_values(), experiment_id=typed)).experiment_id == name
