"""The page of a participant, made from their standing. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from parley_lab.base.errors import Conflict, InvalidInput, Problem
from parley_lab.contracts.experiment import STILL_THERE, LookBack, Profile, StageConfig
from parley_lab.contracts.lives import OUT, OUTCOMES, STILL_IN
from parley_lab.design import Resolved
from parley_lab.gateway.cursors import cohort_cursor, cohort_cursor_text
from parley_lab.gateway.resources.members import ProfileResource
from parley_lab.gateway.resources.participants import (
    AskResource,
    CheckResource,
    CompanionResource,
    CompletionResource,
    Lock,
    Me,
    NoticeResource,
    OfferResource,
    OthersAnswer,
    Page,
    QuestionForm,
    ReasonResource,
    StageMark,
    StagePage,
    StageTexts,
    StayResource,
    ThreadState,
    TimerPurpose,
    TimerResource,
    WaitingResource,
)
from parley_lab.kinds import PAGE, Ask, Blocked, Done, Json, Member, OwnView, PageContent, Question, Questions, Reason
from parley_lab.kinds.parts import NotTaken
from parley_lab.kinds.stages import kind_of, parts_of
from parley_lab.members.standing import OpenAsk, OpenTimer, Standing
from parley_lab.members.stays import LEAST, MOST, StayTimes
from parley_lab.people import attention, transferring
from parley_lab.people.shells import OpenCheck, Shell, shows_others
from parley_lab.store.facts import Counted, position_after
from parley_lab.talk.conversation import TIME_LIMIT

PURPOSES: Final[Mapping[str, TimerPurpose]] = {
    LEAST: "may_go_on",
    MOST: "stage",
    TIME_LIMIT: "conversation",
    attention.DEADLINE: "check",
    transferring.DEADLINE: "transfer",
}
"""The timers that a participant is told of; others belong to the lab."""

State = Literal["done", "current", "waiting", "locked"]


def state_of(standing: Standing, index: int) -> State:
    """How far the participant is with the stage at this place of their way."""
    if index != standing.position:
        return "done" if index < standing.position else "locked"
    return "waiting" if standing.is_locked else "current"


def me(standing: Standing, shell: Shell, now: datetime) -> Me:
    """The shell of the participant's page; `standing` has the company where something is asked or others are shown."""
    return Me(
        member_id=standing.member.id,
        cohort_id=standing.cohort_id,
        experiment_id=standing.experiment_id,
        profile=ProfileResource(**_profile(standing.member)),
        status=standing.status,
        status_reason=standing.status_reason,
        is_over=standing.status in OUTCOMES,
        is_paused=standing.is_held,
        is_held=standing.is_in_held_cohort and standing.status not in OUTCOMES,
        language=standing.language,
        check=None if shell.check is None else _check(shell.check),
        notices=[NoticeResource(id=one.id, text=one.text, created_at=one.created_at) for one in shell.notices],
        offer=None if shell.offer is None else OfferResource(due_at=shell.offer.due_at),
        waiting=None if shell.wait is None else WaitingResource.model_validate(shell.wait, from_attributes=True),
        completion=None if shell.completion is None else CompletionResource(**shell.completion.model_dump()),
        members=_companions(standing, shell, now),
        stages=[_mark(standing, index) for index in range(len(standing.stage_ids))],
        stage_id=standing.stage.id if standing.stage else None,
        asks=_asks(standing, now),
        timers=_timers(standing, now),
        now=now,
        cursor=cohort_cursor_text(standing.cohort_id, standing.cursor),
    )


def _check(check: OpenCheck) -> CheckResource:
    code: Literal["still_there"] | None = "still_there" if check.text == STILL_THERE else None
    return CheckResource(text=check.text, code=code, due_at=check.due_at)


def _companions(standing: Standing, shell: Shell, now: datetime) -> list[CompanionResource]:
    """The other members whom the participant meets now, or has met and waits with."""
    if shell.wait is not None:
        return [_companion(one.id, one.profile, shell, is_ready=one.has_arrived) for one in shell.wait.met]
    stage = standing.stage
    if stage is None or not shows_others(standing):
        return []
    view = standing.view(stage, now)
    here = [one for one in view.members if one.id != standing.member.id and not _is_out(standing, one)]
    return [_companion(one.id, one.profile, shell, is_ready=_is_ready(standing, stage, one)) for one in here]


def _companion(member_id: UUID, profile: Profile, shell: Shell, *, is_ready: bool | None) -> CompanionResource:
    return CompanionResource(
        member_id=member_id,
        profile=ProfileResource(name=profile.name, avatar=profile.avatar, pronouns=profile.pronouns),
        presence="gone" if member_id in shell.gone else "connected",
        is_ready=is_ready,
    )


def _is_out(standing: Standing, member: Member) -> bool:
    return standing.facts.people.row(member.id).status in OUT


def _is_ready(standing: Standing, stage: StageConfig, member: Member) -> bool | None:
    if member.kind == "mediator":
        return None
    is_through = standing.facts.people.row(member.id).is_beyond(stage.id)
    return is_through or standing.is_ready_to_end(stage, member.id)


def _timers(standing: Standing, now: datetime) -> list[TimerResource]:
    least = standing.minimum_time(now)
    told = [one for one in standing.timers if one.purpose in PURPOSES] + ([] if least is None else [least])
    return [_timer(one) for one in sorted(told, key=lambda one: (one.due_at is None, one.due_at or now))]


def _timer(timer: OpenTimer) -> TimerResource:
    purpose = PURPOSES[timer.purpose]
    return TimerResource(purpose=purpose, stage_id=timer.stage_id, ends_at=timer.due_at, left_ms=timer.left_ms)


def _asks(standing: Standing, now: datetime) -> list[AskResource]:
    """What is wanted now, with the forms of those on the stage where the participant is."""
    stage = standing.stage
    if stage is None or not (standing.asks and _is_asked(standing)):
        return []
    view = standing.view(stage, now)
    return [_ask(standing, ask, _question(stage, view, ask)) for ask in standing.asks if ask.stage_id == stage.id]


def _is_asked(standing: Standing) -> bool:
    """Whether the page shows what is asked; in an attention check, too, or what is being typed would vanish."""
    return standing.status in ("in_progress", "attention_check")


def _ask(standing: Standing, ask: OpenAsk, question: Question | None) -> AskResource:
    ends = [one.due_at for one in standing.timers if one.purpose == MOST and one.stage_id == ask.stage_id]
    return AskResource(
        id=ask.id,
        stage_id=ask.stage_id,
        key=ask.key,
        purpose=ask.purpose,
        opened_at=ask.opened_at,
        form=None if question is None else question.form().json_schema(),
        ends_at=ends[0] if ends else None,
    )


def _question(stage: StageConfig, view: OwnView, ask: OpenAsk) -> Question | None:
    questions = parts_of(stage).questions
    return None if questions is None else questions.question(view, Ask(view.me.id, ask.key, ask.purpose))


def _profile(member: Member) -> dict[str, str]:
    profile = member.profile
    return {"name": profile.name, "avatar": profile.avatar, "pronouns": profile.pronouns}


def _mark(standing: Standing, index: int) -> StageMark:
    stage = standing.design.stage(standing.stage_ids[index])
    state = state_of(standing, index)
    title = "" if state == "locked" else stage.title
    return StageMark(id=stage.id, title=title, kind=stage.kind, state=state, look_back=look_back_of(stage))


def look_back_of(stage: StageConfig) -> LookBack:
    """What people may look back at on a stage from which they have gone on."""
    if stage.look_back == "texts" and kind_of(stage).is_only_read:
        return "all"
    # A run that was stored before there was such a rule.
    return stage.look_back or "all"


def withheld_in(design: Resolved) -> frozenset[str]:
    """The stages whose conversations are closed to those who have gone on from there."""
    return frozenset(stage.id for stage in design.stages if look_back_of(stage) != "all")


def page(standing: Standing, stay: StayTimes | None, shell: Shell, now: datetime) -> Page:
    """Where the participant is now; `standing` has the company on that stage, `stay` the times there."""
    stage = standing.stage
    is_shown = stage is not None and standing.status in STILL_IN
    return Page(
        me=me(standing, shell, now),
        page=stage_page(standing, stage, stay, now) if stage is not None and is_shown else None,
    )


def seen_with(page: Page, counted: Sequence[Counted]) -> Page:
    """The page with a cursor after the events of the transaction that made it."""
    me = page.me
    position = position_after(counted, me.cohort_id, cohort_cursor(me.cursor, me.cohort_id))
    return page.model_copy(update={"me": me.model_copy(update={"cursor": cohort_cursor_text(me.cohort_id, position)})})


def stage_page(standing: Standing, stage: StageConfig, stay: StayTimes | None, now: datetime) -> StagePage:
    """What one stage shows that the participant has reached; `standing` has the company there, `stay` the times."""
    state = state_of(standing, standing.stage_ids.index(stage.id))
    assert state != "locked"
    is_locked = state == "waiting"
    view = standing.view(stage, now)
    completion = kind_of(stage).completion(stage, view)
    reasons = completion.reasons if state == "current" and isinstance(completion, Blocked) else ()
    questions = parts_of(stage).questions
    answer = standing.page(stage.id)
    shown = None if is_locked else kind_of(stage).page(stage, view)
    if state == "done" and look_back_of(stage) != "all":
        return _looked_back(stage, shown, _answers_of_others(questions, view))
    return StagePage(
        stage_id=stage.id,
        kind=stage.kind,
        state=state,
        lock=_lock(standing, stage) if is_locked else None,
        view=shown,
        links=stage.links,
        record=stage.record,
        paste=stage.paste or "allowed",
        answer=answer if questions is None or answer is None else questions.shown(answer),
        answers_of_others=_answers_of_others(questions, view),
        stay=None if stay is None else StayResource(may_go_on_at=stay.may_go_on_at, ends_at=stay.ends_at),
        blocked_by=[str(one) for one in reasons],
        reasons=reasons_of(reasons),
        thread=None if is_locked else _thread(standing, stage),
        asks=_asks(standing, now) if state == "current" else [],
        forms=_forms(standing, stage, view) if state == "current" and _is_asked(standing) else [],
    )


def require_look_back(stage: StageConfig, *, at_all: bool = False) -> None:
    """That people may look back at the stage; `at_all` of it, with what was said there.

    Raises:
        Conflict: the experiment does not let them.
    """
    allowed = look_back_of(stage)
    if allowed == "none" or (at_all and allowed != "all"):
        raise Conflict("The experiment does not let you look back at this stage.", reason="no_look_back")


def _looked_back(stage: StageConfig, shown: PageContent | None, others: list[OthersAnswer]) -> StagePage:
    """The texts of a stage that is over for its reader, and what its audience lets them read."""
    return StagePage(
        stage_id=stage.id,
        kind=stage.kind,
        state="done",
        lock=None,
        view=None,
        texts=None if shown is None else _texts_of(shown),
        links=stage.links,
        answer=None,
        answers_of_others=others,
        blocked_by=[],
        thread=None,
    )


def _texts_of(shown: PageContent) -> StageTexts:
    fields = shown.model_dump(mode="json", by_alias=True)
    lines = fields.get("lines") or fields.get("text") or ""
    text = "\n".join(lines) if isinstance(lines, list) else str(lines)
    return StageTexts(
        title=shown.title,
        description=shown.description,
        info=shown.info,
        text=text,
        media=fields.get("media") or [],
        questions=fields.get("questions") or [],
    )


def reasons_of(reasons: Sequence[str]) -> list[ReasonResource]:
    """The sentences of a kind, with their codes."""
    return [
        ReasonResource.model_validate({"code": one.code, "params": one.params, "text": one})
        if isinstance(one, Reason)
        else ReasonResource(code="other", text=one)
        for one in reasons
    ]


def _answers_of_others(questions: Questions | None, view: OwnView) -> list[OthersAnswer]:
    """What the audience of the stage lets the participant read, in the order of the members."""
    shown = ((one, view.shown[one.id]) for one in view.members if one.id in view.shown)
    return [
        OthersAnswer(
            member_id=one.id,
            profile=ProfileResource(**_profile(one)),
            answer=answer if questions is None else questions.shown(answer),
        )
        for one, answer in shown
    ]


def page_answer(stage: StageConfig, view: OwnView, answer: Json) -> Json:
    """What is stored for the whole page when `view.me` goes on with this answer.

    Raises:
        InvalidInput: it is no answer, or the page takes none.
    """
    asked = _page_question(stage, view)
    if asked is not None:
        return asked.check({} if answer is None else answer)
    completion = kind_of(stage).completion(stage, view)
    page = completion.page if isinstance(completion, Done) and completion.page is not None else {}
    if answer and answer != page:
        expected = "nothing: what is wanted on this page is not given with going on"
        raise InvalidInput("This page takes no answer.", [Problem("", "an answer", expected)])
    return page


def not_taken(stage: StageConfig, view: OwnView, answer: Json, stored: Json) -> NotTaken | None:
    """The part of this answer that the stored page lacks, because the time was up; None: it lacks nothing."""
    asked = _page_question(stage, view)
    return None if asked is None else asked.not_taken({} if answer is None else answer, stored)


def takes_answer(stage: StageConfig, view: OwnView) -> bool:
    """Whether the page has a question to `view.me`, which counts as answered when they go on."""
    return _page_question(stage, view) is not None


def _page_question(stage: StageConfig, view: OwnView) -> Question | None:
    questions = parts_of(stage).questions
    return None if questions is None else questions.question(view, Ask(view.me.id, PAGE, "page"))


def _forms(standing: Standing, stage: StageConfig, view: OwnView) -> list[QuestionForm]:
    """The forms of all that the participant may answer here now."""
    found = []
    if standing.page(stage.id) is None and (question := _page_question(stage, view)) is not None:
        begun = standing.begun.get((stage.id, PAGE, None))
        found.append(QuestionForm(ask_id=None, key=PAGE, form=question.form().json_schema(), saved=begun))
    for ask in standing.asks:
        if ask.stage_id == stage.id and (asked := _question(stage, view, ask)) is not None:
            begun = standing.begun.get((stage.id, ask.key, ask.id))
            found.append(QuestionForm(ask_id=ask.id, key=ask.key, form=asked.form().json_schema(), saved=begun))
    return found


def _lock(standing: Standing, stage: StageConfig) -> Lock:
    if not stage.progress.show_progress or standing.arrived is None:
        return Lock(reason="Waiting for others.", arrived=None, expected=None)
    arrived, expected = standing.arrived
    return Lock(reason=f"Waiting for others: {arrived} of {expected} have arrived.", arrived=arrived, expected=expected)


def _thread(standing: Standing, stage: StageConfig) -> ThreadState | None:
    thread: Mapping[str, Any] | None = standing.threads.get(stage.id)
    if thread is None:
        return None
    return ThreadState(id=thread["id"], last_seq=thread["last_seq"], has_ended=thread["ended_at"] is not None)
