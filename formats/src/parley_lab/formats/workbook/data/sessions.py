"""One session: its agents with their roles, and the replies and calls of each agent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Final
from uuid import UUID

from parley_lab.contracts.lives import ARRIVED
from parley_lab.formats.exported import Exported, Row
from parley_lab.formats.workbook.compiling import STAGE
from parley_lab.formats.workbook.data.study import Study
from parley_lab.formats.workbook.design import ID
from parley_lab.formats.workbook.settings import HUGGING_FACE
from parley_lab.kinds import Member
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.stages.group_interview import flow, transcript
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewTask
from parley_lab.views.builder import Facts, People
from parley_lab.views.playing import play_on

Json = Any

SECTIONS: Final = ("members", "stages", "answers", "asks", "drafts", "model_calls")
ANSWERED: Final = "answered"
NOT_ASKED: Final = "not_asked"


@dataclass(frozen=True)
class Agent:
    """An agent or person with a role; `id` is that of the profile, or made of role and session."""

    row: Row
    id: str
    role: str
    description: str
    is_special: bool

    @property
    def path(self) -> str:
        return str(self.row["path"])

    @property
    def played_by(self) -> str:
        return str(self.row["player"])

    @property
    def model(self) -> Mapping[str, Json]:
        """The settings of the model; empty for a person."""
        settings: Mapping[str, Json] = self._config.get("model", {})
        return settings

    @property
    def model_info(self) -> str | None:
        """The model as the sheets name it: an inference endpoint has the endpoint's name."""
        is_at_endpoint = self.model.get("provider") == HUGGING_FACE
        return HUGGING_FACE if is_at_endpoint else self.model.get("model")

    @property
    def attributes(self) -> Mapping[str, Json]:
        attributes: Mapping[str, Json] = self._config.get("attributes", {})
        return attributes

    @property
    def profile_text(self) -> str:
        return str(self._config.get("text", ""))

    @property
    def has_profile(self) -> bool:
        return ID in self.attributes

    @property
    def _config(self) -> Mapping[str, Json]:
        return self.row["agent"] or {}


@dataclass(frozen=True)
class ReplyData:
    """The outcome of one task for one agent. `entry` is None without an answer; `calls` are in order."""

    agent: Agent
    task: InterviewTask
    status: str
    reason: str | None
    entry: Mapping[str, Json] | None
    answered_at: str | None
    calls: Sequence[Row]

    def part(self, name: str) -> Json:
        """One part of the reply: value, response, reasoning, score or validity."""
        return self.entry.get(name) if self.entry is not None else None

    @property
    def shown_value(self) -> Json:
        """The value, or the raw reply when it has none; None instead of text where the task wants numbers."""
        value = self.part("value")
        if self.task.variable_type in ("integer", "float"):
            return value if isinstance(value, int | float) else None
        return self.part("response") if value is None else value

    def total(self, name: str) -> Json:
        """The sum over all calls with a known value; None when there is none."""
        known = [call[name] for call in self.calls if call[name] is not None]
        return sum(known) if known else None

    @property
    def latency_ms(self) -> int | None:
        """The sum over all calls."""
        took = [_ms_between(call["started_at"], call["finished_at"]) for call in self.calls if call["finished_at"]]
        return sum(took) if took else None


@dataclass(frozen=True)
class SessionData:
    """`agents` are the facilitator, then the seats, then other special roles."""

    study: Study
    cohort: Row
    stage: GroupInterviewStage
    id: str
    agents: Sequence[Agent]
    tasks: Sequence[InterviewTask]
    replies: Sequence[ReplyData]
    lines: Sequence[transcript.Line]
    draws: Mapping[str, Json]
    unlocked_at: str | None
    is_over: bool

    @property
    def treatment_label(self) -> str:
        return self.study.treatment_label(self.cohort["treatment"])

    def system_message(self, agent: Agent) -> str:
        """The agent's context, treatment, profile and role, in this order."""
        parts = [self.stage.context, self.stage.treatment, agent.profile_text, agent.description]
        return "\n\n".join(part.strip() for part in parts if part.strip())

    def replies_of(self, agent: Agent) -> list[ReplyData]:
        return [reply for reply in self.replies if reply.agent is agent]


def sessions(exported: Exported, study: Study) -> Iterator[SessionData]:
    """The sessions in the order of cohorts, read one by one.

    Raises:
        InvalidInput: the file is damaged.
    """
    for cohort, rows in exported.by_cohort(*SECTIONS):
        yield _session(study, cohort, rows)


def _session(study: Study, cohort: Row, rows: Mapping[str, list[Row]]) -> SessionData:
    stage = study.stage(cohort["treatment"])
    people = People(tuple(map(_attendee, rows["members"])))
    members = people.on(STAGE)
    opened = next((row for row in rows["stages"] if row["stage"] == STAGE), None)
    draws = opened["draws"] if opened is not None else _before_opening(study, cohort, members)
    given = [row for row in rows["answers"] if row["stage"] == STAGE]
    stored = {(row["member_path"], row["key"]): row for row in given if not flow.is_passed(row["value"])}
    answers: dict[UUID, dict[str, Json]] = {}
    for row in given:
        answers.setdefault(UUID(row["member_id"]), {})[row["key"]] = row["value"]
    facts = Facts(people=people, draws={STAGE: draws}, answers={STAGE: answers}, whole=(STAGE,))
    state = play_on(facts, stage).view.state
    tasks = flow.tasks_in_order(stage, draws)
    session_id = study.facts.sessions.get(cohort["cohort"]) or str(cohort["cohort"])
    agents = _agents(stage, study.facts.facilitator, session_id, members, rows["members"], draws)
    reached = _reached(tasks, rows["members"], state) if opened is not None else -1
    return SessionData(
        study=study,
        cohort=cohort,
        stage=stage,
        id=session_id,
        agents=agents,
        tasks=tasks,
        replies=list(_replies(stage, tasks, agents, draws, stored, rows)),
        lines=transcript.lines(stage, draws, {**state, "position": reached, "reached": reached}, None)
        if reached >= 0
        else [],
        draws=draws,
        unlocked_at=opened["unlocked_at"] if opened is not None else None,
        is_over=reached >= len(tasks),
    )


def _reached(tasks: Sequence[InterviewTask], members: Sequence[Row], state: Mapping[str, Json]) -> int:
    """The position of the task that is or was the last one; past the end when the session has completed all tasks.

    Members who have left are asked nothing: without this, a session that all have left would look complete.
    """
    went_on = any(row["status"] in ARRIVED for row in members if row["kind"] == "participant")
    said = flow.last_said(tasks, state["replies"])
    return max(said, int(state["reached"])) if went_on else said


def _before_opening(study: Study, cohort: Row, members: Sequence[Member]) -> dict[str, Json]:
    """Roles and tasks from the file; the orders of options are not drawn yet."""
    given = {**study.settled(cohort["cohort"]), "orders": {}}
    return flow.drawn(study.stage(cohort["treatment"]), members, given, Random(0))


def _attendee(row: Row) -> Attendee:
    return Attendee(
        id=UUID(row["member_id"]),
        path=row["path"],
        kind=row["kind"],
        player=row["player"],
        status=row["status"],
        stage_ids=tuple(row["stages"]),
        position=row["position"],
        profile=row["profile"],
    )


def _agents(
    stage: GroupInterviewStage,
    facilitator_text: str,
    session_id: str,
    members: Sequence[Member],
    rows: Sequence[Row],
    draws: Mapping[str, Json],
) -> list[Agent]:
    descriptions = {
        stage.facilitator: facilitator_text,
        **{role.label: role.description for role in (*stage.roles, *stage.special_roles)},
    }
    found: list[Agent] = []
    for member, row in zip(members, rows, strict=True):
        role = flow.role_of(stage, member, draws)
        if role is not None:
            attributes = (row["agent"] or {}).get("attributes", {})
            found.append(
                Agent(
                    row=row,
                    id=str(attributes.get(ID, f"{role}_{session_id}")),
                    role=role,
                    description=descriptions.get(role, ""),
                    is_special=role in flow.special(stage),
                )
            )
    return sorted(found, key=lambda agent: 0 if agent.role == stage.facilitator else 1 + agent.is_special)


def _replies(
    stage: GroupInterviewStage,
    tasks: Sequence[InterviewTask],
    agents: Sequence[Agent],
    draws: Mapping[str, Json],
    stored: Mapping[tuple[str, str], Row],
    rows: Mapping[str, list[Row]],
) -> Iterator[ReplyData]:
    """One for every agent and every task that asks it, with or without a reply."""
    by_role = {agent.role: agent for agent in agents}
    asks = {(row["member_path"], row["key"]): row for row in rows["asks"] if row["stage"] == STAGE}
    calls = _calls_by_ask(rows)
    for task in tasks:
        for turn in flow.turns(stage, task, draws):
            agent = by_role.get(turn.role)
            if agent is not None:
                at = agent.path, flow.key_of(task)
                yield _reply(agent, task, stored.get(at), asks.get(at), calls.get(at, []))


def _calls_by_ask(rows: Mapping[str, list[Row]]) -> dict[tuple[str, str], list[Row]]:
    keys = {row["path"]: (row["member_path"], row["key"]) for row in rows["asks"] if row["stage"] == STAGE}
    drafts = {row["path"]: keys[row["ask_path"]] for row in rows["drafts"] if row["ask_path"] in keys}
    found: dict[tuple[str, str], list[Row]] = {}
    for call in rows["model_calls"]:
        if call["draft_path"] in drafts:
            found.setdefault(drafts[call["draft_path"]], []).append(call)
    return found


def _reply(agent: Agent, task: InterviewTask, stored: Row | None, ask: Row | None, calls: Sequence[Row]) -> ReplyData:
    status = ANSWERED if stored is not None else ask["state"] if ask is not None else NOT_ASKED
    return ReplyData(
        agent=agent,
        task=task,
        status=status,
        reason=ask["reason"] if ask is not None else None,
        entry=stored["value"] if stored is not None else None,
        answered_at=stored["written_at"] if stored is not None else None,
        calls=calls,
    )


def _ms_between(started_at: str, finished_at: str) -> int:
    took = datetime.fromisoformat(finished_at) - datetime.fromisoformat(started_at)
    return round(took.total_seconds() * 1000)


def last(calls: Sequence[Row]) -> Row:
    """The last of the calls; an empty row when there is none."""
    return calls[-1] if calls else {}
