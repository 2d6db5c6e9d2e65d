"""A run that was begun with --model is found again, by the command that its end printed, too."""

import io
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from rich.console import Console

from parley_lab.base.errors import InvalidInput
from parley_lab.cli import run_folder
from parley_lab.cli.plans import Order, Plan, plans_of
from parley_lab.cli.running import _say_how_to_go_on
from parley_lab.cli.screen import Screen
from parley_lab.cli.testing import TINY, written
from parley_lab.design import document_hash

HAIKU = "claude-haiku-4-5"
NOW = datetime(2030, 1, 2, tzinfo=UTC)


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Order:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("LLM_USE_MOCK", raising=False)
    file = written(tmp_path, TINY)
    return Order(file=file, models=None, model=HAIKU, out=tmp_path, data_dir=tmp_path / "lab", port=None)


def make_plan(order: Order) -> Plan:
    assert order.file is not None
    (plan,) = plans_of(order, order.file)
    return plan


def begin_run(order: Order, *, file_hash: str, model: str | None) -> run_folder.Run:
    return run_folder.begin(
        order.out,
        "A tiny talk",
        experiment_id=uuid4(),
        file_hash=file_hash,
        file=Path("talk.yaml"),
        model_mode="real",
        model=model,
        now=NOW,
    )


@pytest.mark.parametrize("named", [HAIKU, None])
def test_a_run_goes_on_with_its_model_whether_it_is_named_again_or_not(order: Order, named: str | None) -> None:
    plan = make_plan(order)
    run = begin_run(order, file_hash=plan.file_hash, model=plan.model)

    resumed = make_plan(replace(order, resume=True, model=named))

    assert resumed.run == run
    assert {one.model.model for one in resumed.experiment.personas} == {HAIKU}
    assert resumed.experiment == plan.experiment


def test_a_run_of_an_earlier_version_goes_on_when_its_model_is_named(order: Order) -> None:
    run = begin_run(order, file_hash=document_hash(make_plan(order).experiment), model=None)

    assert make_plan(replace(order, resume=True)).run == run


@pytest.mark.parametrize(("model", "told"), [("claude-opus-4-1", "with --model claude-opus-4-1"), (None, "without")])
def test_a_run_does_not_go_on_with_another_model(order: Order, model: str | None, told: str) -> None:
    begin_run(order, file_hash=make_plan(order).file_hash, model=model)

    with pytest.raises(InvalidInput, match=told):
        make_plan(replace(order, resume=True))


def test_the_advice_how_to_go_on_names_the_model(order: Order) -> None:
    output = io.StringIO()

    _say_how_to_go_on(order, make_plan(order), Screen(Console(file=output, soft_wrap=True)))

    assert f"--model {HAIKU}" in shlex.join(output.getvalue().split())
