"""Writes the minutes of a stage, the lines that all its members have heard, into its thread.

Level-triggered: each call writes the lines that are missing.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import LabView
from parley_lab.kinds.stages import parts_of
from parley_lab.members.cohort_state import CohortState, OpenThread
from parley_lab.members.held_cohorts import began_on_clock
from parley_lab.orchestrator.rules import more_are_to_come, place_of_thread
from parley_lab.store.session import Session
from parley_lab.talk import Scene, Turn, write_down
from parley_lab.talk.conversation import open_thread
from parley_lab.talk.stored_changes import write

GROUP: Final = "group"
CAUSE: Final = "orchestrator"


async def settle_minutes(
    session: Session, cohort: CohortState, stage: StageConfig, view: LabView, now: datetime
) -> None:
    """Open the thread, and write the missing lines. Idempotent.

    `view`: the stage with all answers. The caller holds the cohort's lock. Minutes are written under it alone, so no
    transaction waits for the thread's lock, which is taken here.
    """
    found = next((one for one in cohort.threads if one.stage_id == stage.id), None)
    scene = _scene(cohort, stage, view, found, now)
    if found is None:
        await open_thread(
            session,
            thread_id=scene.thread_id,
            experiment_id=cohort.experiment_id,
            cohort_id=cohort.id,
            stage_id=stage.id,
            scope=GROUP,
            path=scene.path,
            now=now,
            timer=None,
            cause=CAUSE,
        )
    minutes_of = parts_of(stage).minutes
    assert minutes_of is not None
    minutes = minutes_of(view)
    if more_are_to_come(cohort, stage.id):
        minutes = replace(minutes, are_closed=False)
    change = write_down(scene, minutes, frozenset() if found is None else found.known)
    if change is not None:
        await write(session, scene, change, CAUSE)


def _scene(cohort: CohortState, stage: StageConfig, view: LabView, thread: OpenThread | None, now: datetime) -> Scene:
    """The thread as it is under the cohort's lock. It has no turn-taking."""
    thread_id, path = place_of_thread(cohort, stage, GROUP)
    return Scene(
        experiment_id=cohort.experiment_id,
        cohort_id=cohort.id,
        thread_id=thread_id,
        path=path,
        stage=stage,
        seed=cohort.seed,
        pace="fast" if cohort.pace == "fast" else "live",
        now=now,
        opened_at=now if thread is None else began_on_clock(thread.opened_at, thread.paused_ms, thread.held_since, now),
        ended=thread is not None and thread.ended,
        held=False,
        last_seq=thread.last_seq if thread is not None else 0,
        last_spoken_id=None,
        last_spoken_trigger=None,
        last_author_id=None,
        last_text="",
        agent_run=0,
        clock_ms=thread.clock_ms if thread is not None else 0,
        turn=Turn(),
        members=view.members,
        providers={},
        drafts=(),
    )
