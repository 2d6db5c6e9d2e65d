"""Makes the data.json of a workbook's experiment without a run, with the results that a test asks for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import orjson

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Persona
from parley_lab.design import Experiment, resolve
from parley_lab.kinds.stages.group_interview.answers import Wanted, kept, stored, wanted
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewTask

Json = Any
EXPERIMENT_ID = UUID(int=7)
AT = "2026-01-01T00:00:00Z"


@dataclass
class Taken:
    """The outcome of one ask: a stored answer or none, the state of the ask (None: never asked), the number of
    calls."""

    said: str | None = None
    state: str | None = None
    calls: int = 0


@dataclass
class Run:
    """A made-up run of the experiment; `taken` is by path of the member and id of the task."""

    document: Experiment
    taken: Mapping[tuple[str, str], Taken] = field(default_factory=dict)
    status: str = "completed"
    prompt: str = "What?"

    @property
    def stage(self) -> GroupInterviewStage:
        (stage,) = self.document.stages
        assert isinstance(stage, GroupInterviewStage)
        return stage

    def members(self) -> Iterator[dict[str, Json]]:
        personas = {persona.id: persona for persona in self.document.personas}
        for number, cohort in enumerate(self.document.cohorts, start=1):
            seats = [("participant", f"m{seat}", one.persona) for seat, one in enumerate(cohort.seats, start=1)]
            mediators = [("mediator", f"med{seat}", one) for seat, one in enumerate(cohort.mediators, start=1)]
            for what, place, persona_id in [*seats, *mediators]:
                persona = personas.get(persona_id or "")
                yield {
                    "member_id": str(uuid5(EXPERIMENT_ID, f"c{number}/{place}")),
                    "path": f"c{number}/{place}",
                    "cohort_path": f"c{number}",
                    "kind": what,
                    "player": "person" if persona is None else "agent",
                    "profile": {"name": "Zoe" if persona is None else persona.profile.name},
                    "agent": None if persona is None else _config(persona),
                    "status": self.status,
                    "status_reason": None,
                    "stages": ["interview"],
                    "position": 1 if self.status == "completed" else 0,
                }

    def asked(self) -> Iterator[tuple[dict[str, Json], InterviewTask, str]]:
        """Each task with every member whom it asks, and the member's role."""
        for member in self.members():
            role = self.role(member)
            for task_id in self._settled(member["cohort_path"])["tasks"]:
                task = next(one for one in self.stage.tasks if one.id == task_id)
                asks_role = task.type == "discussion" and role != "Facilitator"
                if asks_role or role in [question.role for question in task.questions]:
                    yield member, task, role

    def role(self, member: Mapping[str, Json]) -> str:
        """The role of a participant's seat; a mediator's role is its name."""
        seat = member["path"].partition("/m")[2]
        roles = self._settled(member["cohort_path"])["speakers"]
        return str(roles[int(seat) - 1] if seat.isdigit() else member["profile"]["name"])

    def _settled(self, cohort_path: str) -> Mapping[str, Json]:
        return self.document.cohorts[int(cohort_path[1:]) - 1].draws[self.stage.id]

    def sections(self) -> dict[str, list[dict[str, Json]]]:
        cohorts = [
            {
                "cohort_path": f"c{number}",
                "cohort": cohort.id,
                "treatment": cohort.treatment,
                "status": "ended" if self.status == "completed" else "running",
                "ended_at": None,
            }
            for number, cohort in enumerate(self.document.cohorts, start=1)
        ]
        members = list(self.members())
        asked = [(*one, self.taken.get((one[0]["path"], one[1].id), Taken())) for one in self.asked()]
        return {
            "treatments": [
                {"treatment": one.id, "resolved": resolve(self.document, one.id).model_dump(mode="json")}
                for one in self.document.treatments
            ],
            "cohorts": cohorts,
            "members": members,
            "stages": [
                {
                    "cohort_path": cohort["cohort_path"],
                    "stage": "interview",
                    "draws": self._draws(f"c{number}", members),
                    "unlocked_at": AT,
                }
                for number, cohort in enumerate(cohorts, start=1)
            ],
            "answers": [self._answer(*one) for one in asked if one[3].said is not None],
            "asks": [_ask(member, task, taken) for member, task, _, taken in asked if taken.state is not None],
            "drafts": [_draft(member, task) for member, task, _, taken in asked if taken.state is not None],
            "model_calls": [
                _call(member, task, number, self.prompt)
                for member, task, _, taken in asked
                for number in range(taken.calls)
            ],
        }

    def _draws(self, cohort_path: str, members: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        roles = {
            f"role:{member['path']}": self.role(member)
            for member in members
            if member["cohort_path"] == cohort_path and member["kind"] == "participant"
        }
        return {**self._settled(cohort_path), "orders": {}, **roles}

    def _answer(self, member: Mapping[str, Json], task: InterviewTask, role: str, taken: Taken) -> dict[str, Json]:
        want = wanted(self.stage, task, role)
        return {
            "member_path": member["path"],
            "member_id": member["member_id"],
            "cohort_path": member["cohort_path"],
            "stage": "interview",
            "key": f"task:{task.id}",
            "value": _entry(want, taken.said or ""),
            "written_at": AT,
        }

    def write(self, folder: Path) -> Path:
        """Write it in the form of data.json."""
        head = {
            "experiment": {
                "name": self.document.name,
                "study": self.document.study,
                "seed": self.document.seed,
                "model_mode": "mock",
                "status": "ended",
                "file_hash": "hash",
                "document": self.document.model_dump(mode="json"),
            }
        }
        path = folder / "data.json"
        with path.open("wb") as file:
            file.write(orjson.dumps(head)[:-1])
            for name, rows in self.sections().items():
                file.write(f',\n"{name}": ['.encode())
                file.write(b",".join(b"\n" + orjson.dumps(row) for row in rows) + b"\n]")
            file.write(b"\n}\n")
        return path


def _config(persona: Persona) -> dict[str, Json]:
    return {
        "attributes": persona.attributes,
        "text": persona.text,
        "model": {"model": "m", "provider": persona.model.provider},
    }


def _entry(want: Wanted, said: str) -> dict[str, Json]:
    """The entry as it is stored, or as it is recorded when the text is no valid answer."""
    try:
        return stored(want, {"response": said, "reasoning": "because", "speculation_score": 10})
    except InvalidInput:
        return kept(want, said)


def _path(member: Mapping[str, Json], task: InterviewTask) -> str:
    return f"{member['path']}/interview/task:{task.id}"


def _of(member: Mapping[str, Json]) -> dict[str, Json]:
    return {"member_path": member["path"], "cohort_path": member["cohort_path"], "stage": "interview"}


def _ask(member: Mapping[str, Json], task: InterviewTask, taken: Taken) -> dict[str, Json]:
    key = f"task:{task.id}"
    return {**_of(member), "path": _path(member, task), "key": key, "state": taken.state, "reason": None}


def _draft(member: Mapping[str, Json], task: InterviewTask) -> dict[str, Json]:
    path = _path(member, task)
    return {**_of(member), "path": f"{path}/draft", "ask_path": path}


def _call(member: Mapping[str, Json], task: InterviewTask, number: int, prompt: str) -> dict[str, Json]:
    return {
        **_of(member),
        "draft_path": f"{_path(member, task)}/draft",
        "model_asked": "m",
        "model_returned": "",
        "provider": "mock",
        "prompt": [{"role": "user", "content": prompt}],
        "prompt_hash": "h",
        "raw": "r",
        "tokens_in": 3,
        "tokens_out": number,
        "cost": None,
        "started_at": AT,
        "finished_at": AT,
    }
