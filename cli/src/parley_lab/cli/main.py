"""The command line. Each command imports the heavy modules that it needs."""

import gc
import inspect
import io
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from parley_lab.base.errors import InvalidInput, NotFound, ParleyError, SettingsInvalid, TooLarge
from parley_lab.cli.cli_groups import arena, kinds, library, workbook
from parley_lab.cli.cli_operators import console, dead, doctor, keys, providers
from parley_lab.cli.cli_options import (
    AsOption,
    BurstsOption,
    ClosingOption,
    DataDir,
    DecliningOption,
    DrawsOption,
    File,
    Kinds,
    MaxCallsOption,
    ModelOption,
    ModelsOption,
    NoShowsOption,
    Out,
    PatienceOption,
    People,
    RehearseOption,
    Sessions,
    SilentOption,
    StepsOption,
    expand_home,
)
from parley_lab.cli.cli_runs import discard, end, export, guests, link, list_runs, message, remove, resume, stop, watch
from parley_lab.cli.run_folder import DEFAULT_OUT
from parley_lab.contracts.languages import NameLanguage

DISTRIBUTION: Final = "parley-lab"
BAD_INPUT: Final = 2
FAILED: Final = 1
NEEDS_LIBRARY: Final = 3
INTERRUPTED: Final = 130
Demo = Annotated[str, typer.Argument(metavar="NAME", help="The name of a demo.")]
_ALLOCATIONS_BETWEEN_COLLECTIONS: Final = 100_000
_BAD_INPUT_ERRORS = (InvalidInput, TooLarge, SettingsInvalid, NotFound)

app = typer.Typer(
    name="parley",
    help="Behavioural experiments with people and LLM agents.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"parley {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def _common(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


@app.command()
def up(
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", metavar="FILE", help="An experiment or workbook to run to its end first."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the REST API; 0: a free one.")] = 8000,
    models: ModelsOption = None,
    model: ModelOption = None,
    out: Out = DEFAULT_OUT,
    data_dir: DataDir = Path(".parley"),
    people: People = None,
    sessions: Sessions = None,
    draws: DrawsOption = "reference",
    rehearse: RehearseOption = False,
    steps: StepsOption = False,
    max_calls: MaxCallsOption = None,
    patience: PatienceOption = 5,
    continue_all: Annotated[
        bool, typer.Option("--continue-all", help="Go on with everything that ran when a lab here was stopped.")
    ] = False,
    kinds: Kinds = None,
) -> None:
    """Start the lab, run an experiment if one is named, and serve the REST API until Ctrl-C."""
    from parley_lab.cli.plans import Order
    from parley_lab.cli.running import execute

    order = Order(
        file=experiment,
        models=models,
        model=model,
        out=out,
        data_dir=data_dir,
        port=port,
        keep_serving=True,
        continue_all=continue_all,
        people=tuple(people or ()),
        sessions=sessions,
        draws=draws,
        rehearse=rehearse,
        steps=steps,
        max_calls=max_calls,
        patience=timedelta(minutes=patience),
    )
    raise typer.Exit(execute(order))


@app.command()
def run(
    file: File,
    models: ModelsOption = None,
    model: ModelOption = None,
    out: Out = DEFAULT_OUT,
    data_dir: DataDir = Path(".parley"),
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Serve the REST API meanwhile; 0: on any free port. Default: not, or on 8000 if people have to join.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the latest unfinished run.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: ask those again who failed, also in an ended run.")
    ] = False,
    people: People = None,
    sessions: Sessions = None,
    draws: DrawsOption = "reference",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what a workbook would run: sessions, calls, tokens.")
    ] = False,
    rehearse: RehearseOption = False,
    no_shows: NoShowsOption = 0,
    silent: SilentOption = 0,
    closing: ClosingOption = 0,
    declining: DecliningOption = 0,
    bursts: BurstsOption = 1,
    personas: AsOption = None,
    steps: StepsOption = False,
    max_calls: MaxCallsOption = None,
    patience: PatienceOption = 5,
    kinds: Kinds = None,
) -> None:
    """Run an experiment to its end and write its data; a workbook is an experiment for each permutation of constants.

    Exit codes: 0 finished; 1 stuck, participants failed, answers are missing, a key was refused or no call is left;
    2 bad input; 130 stopped by Ctrl-C.
    """
    if retry_failed and not resume:
        raise InvalidInput("--retry-failed goes on with a run: give --resume as well.")
    if (no_shows or silent or closing or declining or bursts > 1 or personas) and not rehearse:
        options = "--no-shows, --silent, --closing, --declining, --bursts and --as"
        raise InvalidInput(f"{options} are about the people of a rehearsal: give --rehearse as well.")
    if dry_run:
        from parley_lab.cli.dry_run import show

        show(file, people=people or (), sessions=sessions, draws=draws)
        return
    from parley_lab.cli.made_up_people import Turnout
    from parley_lab.cli.plans import Order
    from parley_lab.cli.running import execute

    order = Order(
        file=file,
        models=models,
        model=model,
        out=out,
        data_dir=data_dir,
        port=port,
        resume=resume,
        retry_failed=retry_failed,
        people=tuple(people or ()),
        sessions=sessions,
        draws=draws,
        rehearse=rehearse,
        turnout=Turnout(no_shows, silent, closing, declining, bursts),
        personas=tuple(personas or ()),
        steps=steps,
        max_calls=max_calls,
        patience=timedelta(minutes=patience),
    )
    raise typer.Exit(execute(order))


def demo(name: str, **options: Any) -> None:
    """Run an experiment that comes with the lab, as `run` does, and write its data.

    The demos: deliberation (eight agents talk), arena (iterated games), people_and_agents (three seats for people:
    give --rehearse to try it alone), public_goods (a workbook).
    """
    from parley_lab.formats.demos import find_demo

    run(find_demo(name), **options)


def _with_options_of_run() -> inspect.Signature:
    _, *options = inspect.signature(run).parameters.values()
    name = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="deliberation", annotation=Demo)
    return inspect.Signature([name, *options])


# Typer reads the options of a command from its signature.
demo.__signature__ = _with_options_of_run()  # type: ignore[attr-defined]
app.command()(demo)
app.command("runs")(list_runs)
for command in (stop, resume, end, discard, export, remove, watch, link, message, guests):
    app.command()(command)


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .yaml file to write.")] = Path("experiment.yaml"),
) -> None:
    """Write a small experiment to start from, and beside it the schema with which editors complete it."""
    from parley_lab.cli.first_file import write_first_file

    write_first_file(file)
    typer.echo(f"Wrote {file}. Change it, then: parley validate {file}")
    typer.echo(f"To run it: parley run {file}")


@app.command(
    "fake-endpoint", add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def fake_endpoint(context: typer.Context) -> None:
    """Serve made-up replies at an address like that of a provider, to rehearse runs of real models without paying."""
    from parley_lab.testing.fake_endpoint import main as serve

    serve(context.args)


@app.command()
def validate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="An experiment file, a workbook, or a folder with a CSV file for each sheet."
        ),
    ],
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            callback=expand_home,
            help="Look personas up in the library of the lab in this directory.",
        ),
    ] = None,
    draws: DrawsOption = "reference",
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="STAGE",
            help="Also print the stage's questions or tasks as people see them, of three rows.",
        ),
    ] = None,
    kinds: Kinds = None,
) -> None:
    """Check an experiment file or a workbook and tell every problem in it at once.

    Exit codes: 0 valid; 2 not; 3 valid if the persona library has what the file names and does not define.
    """
    from parley_lab.cli.experiment_file import is_workbook

    if is_workbook(file):
        _validate_workbook(file, draws, explain)
    else:
        _validate_experiment(file, data_dir, explain)


def _validate_workbook(file: Path, draws: DrawsOption, explain: str | None) -> None:
    from parley_lab.cli.workbook_file import read_workbook
    from parley_lab.formats.workbook import compile_workbook

    workbook = read_workbook(file, draws)
    for warning in workbook.warnings:
        typer.echo(f"Warning: {warning}", err=True)
    # Draws decide whether the file is valid: they are made now, before participants wait.
    experiments = compile_workbook(workbook, draws=draws)
    if explain is not None:
        from parley_lab.cli.explaining import explained

        typer.echo("\n".join(explained(experiments[0], explain)))
    design = workbook.designs[0]
    typer.echo(
        f"{file} is valid: {workbook.experiment_id!r}, experiments: {len(workbook.designs)}, "
        f"sessions: {design.settings.num_sessions}, tasks: {len(design.tasks)}, "
        f"treatments: {len(design.arms)}, roles: {len(design.user_roles)}, profiles: {len(design.profiles)}."
    )


def _validate_experiment(file: Path, data_dir: Path | None, explain: str | None) -> None:
    from parley_lab.cli.experiment_file import read_file

    experiment_file = read_file(file)
    for warning in experiment_file.warnings:
        typer.echo(f"Warning: {warning}", err=True)
    looked_up: list[str] = []
    if data_dir is None or not experiment_file.named:
        experiment = experiment_file.careful_sketch()
    else:
        from parley_lab.cli.library import look_up

        library = look_up(data_dir, experiment_file.named)
        experiment, looked_up = experiment_file.experiment(library), [*library]
    for warning in experiment_file.warnings_of(experiment, looked_up=looked_up):
        typer.echo(f"Warning: {warning}", err=True)
    if explain is not None:
        from parley_lab.cli.explaining import explained

        typer.echo("\n".join(explained(experiment, explain)))
    named = experiment_file.named if data_dir is None else []
    if named:
        typer.echo(f"{file} is valid, if the library has: {', '.join(named)}. --data-dir DIR looks them up.")
        raise typer.Exit(NEEDS_LIBRARY)
    cohorts = sum(plan.cohorts for plan in experiment.cohorts)
    participants = sum(plan.count * plan.participants for plan in experiment.cohorts)
    typer.echo(
        f"{file} is valid: {experiment.name!r}, stages: {len(experiment.stages)}, "
        f"treatments: {len(experiment.treatments)}, cohorts: {cohorts}, participants: {participants}."
    )


@app.command()
def schema(kinds: Kinds = None) -> None:
    """Print the JSON Schema of experiment files."""
    import json

    from parley_lab.design import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


@app.command()
def words(
    language: Annotated[NameLanguage, typer.Option("--language", help="In which language of the lab.")] = "en",
    kinds: Kinds = None,
) -> None:
    """Print all words of the pages, to be replaced or translated (`appearance.words_from`)."""
    import json

    from parley_lab.design.own_words import known_words
    from parley_lab.kinds.page_words import words_in

    found = {**known_words(), **words_in(language)}
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


@app.command()
def prompt(
    file: File,
    persona: Annotated[str, typer.Option("--persona", metavar="ID", help="Who is to be shown something.")],
    stage: Annotated[str, typer.Option("--stage", metavar="ID", help="On which stage.")],
    treatment: Annotated[
        str | None, typer.Option("--treatment", metavar="ID", help="In which arm. [that of the persona's first cohort]")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=2**63 - 1, metavar="N", help="What is drawn is drawn with N. [the file's]"),
    ] = None,
    data_dir: DataDir = Path(".parley"),
    kinds: Kinds = None,
) -> None:
    """Show what a persona would be shown on a stage that has just opened, and the shape of its reply."""
    from parley_lab.cli.prompting import shown

    prompt = shown(file, persona_id=persona, stage_id=stage, treatment_id=treatment, seed=seed, data_dir=data_dir)
    if prompt.drawn_seed is not None:
        typer.echo(f"The file has no seed. This preview drew one: --seed {prompt.drawn_seed} shows it again.", err=True)
    typer.echo(prompt.text)


@app.command()
def chat(
    persona: Annotated[str, typer.Argument(metavar="PERSONA", help="The id of a persona.")],
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="The experiment or persona file that has it. [the library]"),
    ] = None,
    models: Annotated[
        Literal["mock", "real"], typer.Option("--models", help="Made-up replies that cost nothing, or the real model.")
    ] = "mock",
    data_dir: DataDir = Path(".parley"),
    kinds: Kinds = None,
) -> None:
    """Talk to a persona. What was said is kept; /history shows it, /clear begins anew, /quit or Ctrl-D ends."""
    from parley_lab.cli.chatting import ChatOrder, execute

    raise typer.Exit(execute(ChatOrder(persona_id=persona, file=file, models=models, data_dir=data_dir)))


app.command()(console)
app.command()(doctor)
app.add_typer(workbook, name="workbook")
app.add_typer(kinds, name="kinds")
app.add_typer(library, name="personas")
app.add_typer(arena, name="arena")
app.add_typer(providers, name="providers")
app.add_typer(keys, name="keys")
app.add_typer(dead, name="dead")


def main() -> None:
    """The console script."""
    # Imported modules stay for good; scanning them again and again takes a quarter of the start of a lab.
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
    from parley_lab.cli.environment import read_dotenv

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows a replacement; otherwise the run would end.
            # A reader of a pipe gets every line when it is written.
            stream.reconfigure(errors="replace", line_buffering=True)
    try:
        read_dotenv(Path.cwd())
        app()
    except ParleyError as error:
        typer.echo(str(error), err=True)
        sys.exit(BAD_INPUT if isinstance(error, _BAD_INPUT_ERRORS) else FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def main_by_full_name() -> None:
    """The console script `parley-lab`: it is this lab's where another package brings a command `parley`, too."""
    from importlib.metadata import entry_points

    commands = entry_points(group="console_scripts", name="parley")
    others = {command.dist.name for command in commands if command.dist} - {DISTRIBUTION}
    if others:
        named = " and ".join(sorted(others))
        typer.echo(
            f"{named} also brings a command 'parley', which may shadow this lab's. Type 'parley-lab' instead.", err=True
        )
    main()


if __name__ == "__main__":
    main()
