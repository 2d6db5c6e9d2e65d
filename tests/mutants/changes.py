"""The changes: each makes one rule of the lab wrong in one place."""

from dataclasses import dataclass
from typing import Final

_SHARED: Final = "shared/src/parley_lab"
_WORKER: Final = "services/agent-worker/src/parley_lab/agent_worker"
_BUILDER: Final = "services/prompt-builder/src/parley_lab/prompt_builder"
_ORCHESTRATOR: Final = "services/orchestrator/src/parley_lab/orchestrator"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a source file. `before` is in the file exactly once."""

    rule: str
    """The rule that no longer holds, in words."""
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    """The tests that decide the rule, as pytest takes them; one of them must fail."""


_LEASES: Final = ("services/agent-worker/tests/test_what_is_leased.py", "services/agent-worker/tests/test_leases.py")
_TALK: Final = ("shared/tests/talk",)
_CLAIMS: Final = ("tests/races/test_claim_race.py", "tests/flows/test_following.py", "tests/flows/test_said_once.py")
_POSTING: Final = ("services/gateway/tests/test_posting.py", "tests/flows/test_said_once.py")
_ANSWERS: Final = (
    "tests/flows/test_done_once.py",
    "services/gateway/tests/test_asks.py",
    "tests/flows/test_answers_at_once.py",
    "tests/flows/test_shared_asks.py",
)
_DATA: Final = (
    "tests/flows/test_drafts_in_data.py",
    "tests/flows/test_same_data.py",
    "formats/tests/test_data_files.py",
)
_JOINING: Final = (
    "services/gateway/tests/test_participants.py",
    "services/gateway/tests/test_coming_back.py",
    "tests/races/test_joining_race.py",
)
_RULES: Final = ("services/orchestrator/tests/test_rules.py", "services/gateway/tests/test_waiting.py")
_LIMITS: Final = ("shared/tests/contracts/test_limits.py", "services/agent-worker/tests/test_limiter.py")
_GAMES: Final = ("shared/src/parley_lab/kinds/stages/matrix_game/tests",)
_REPLIES: Final = ("services/agent-worker/tests/test_reading_replies.py", "shared/tests/kinds/test_forms.py")
_SEEN: Final = ("shared/tests/contracts/test_quotes.py", "shared/tests/views", "services/prompt-builder/tests")
_PRESENCE: Final = ("services/gateway/tests/test_presence.py",)

_CORE: Final = (
    Change(
        "a lease that has not run out belongs to one worker",
        f"{_SHARED}/drafts/drafts.py",
        "WHERE d.id = v.id AND v.closing IS DISTINCT FROM 'held' AND (v.closing IS NULL OR :may_close)\n"
        "            AND (d.state = 'wanted' AND d.not_before <= :now OR d.state = 'thinking'"
        " AND d.lease_until < :now)",
        "WHERE d.id = v.id AND v.closing IS DISTINCT FROM 'held' AND (v.closing IS NULL OR :may_close)\n"
        "            AND (d.state = 'wanted' AND d.not_before <= :now OR d.state = 'thinking')",
        _LEASES,
    ),
    Change(
        "a draft that was given back waits until its time",
        f"{_SHARED}/drafts/drafts.py",
        "AND (d.state = 'wanted' AND d.not_before <= :now OR d.state = 'thinking' AND d.lease_until < :now)\n"
        "        RETURNING d.*",
        "AND (d.state = 'wanted' OR d.state = 'thinking' AND d.lease_until < :now)\n        RETURNING d.*",
        _LEASES,
    ),
    Change(
        "no draft of a paused member is leased",
        f"{_SHARED}/drafts/drafts.py",
        "WHEN e.status = 'paused' OR m.status = 'paused' THEN 'held'",
        "WHEN e.status = 'paused' THEN 'held'",
        (*_LEASES, "tests/flows/test_paused_members.py", "tests/flows/test_pausing.py"),
    ),
    Change(
        "no call is made for a draft whose trigger is claimed",
        f"{_SHARED}/drafts/drafts.py",
        "WHERE l.thread_id = d.thread_id AND l.trigger_key = d.trigger_key) THEN 'lost_claim'",
        "WHERE l.thread_id = d.thread_id AND l.trigger_key = d.trigger_key AND false) THEN 'lost_claim'",
        (*_LEASES, *_CLAIMS),
    ),
    Change(
        "a lease is renewed for its owner alone",
        f"{_SHARED}/drafts/drafts.py",
        "UPDATE drafts SET lease_until = :until WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'",
        "UPDATE drafts SET lease_until = :until WHERE id = :draft_id AND state = 'thinking'",
        _LEASES,
    ),
    Change(
        "a reply is saved for the owner of the lease alone",
        f"{_SHARED}/drafts/drafts.py",
        "WHERE d.id = :draft_id AND d.lease_owner = :owner AND d.state = 'thinking'\n    RETURNING (",
        "WHERE d.id = :draft_id AND d.state = 'thinking'\n    RETURNING (",
        ("tests/flows/test_adversity.py",),
    ),
    Change(
        "a draft is given back by its owner alone",
        f"{_SHARED}/drafts/drafts.py",
        "free_calls = free_calls + :free_calls\n"
        "    WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'",
        "free_calls = free_calls + :free_calls\n    WHERE id = :draft_id AND state = 'thinking'",
        _LEASES,
    ),
    Change(
        "a call whose lease another worker has is broken off",
        f"{_WORKER}/leasing.py",
        "        finally:\n            task.cancel()",
        "        finally:\n            pass",
        _LEASES,
    ),
    Change(
        "one reply claims a trigger",
        f"{_SHARED}/talk/stored_changes.py",
        "SELECT 1 WHERE CAST(:claim_draft_id AS uuid) IS NULL OR EXISTS (SELECT FROM claim)",
        "SELECT 1",
        _CLAIMS,
    ),
    Change(
        "a draft that loses its claim is closed as lost",
        f"{_SHARED}/talk/stored_changes.py",
        "THEN 'published' ELSE 'lost_claim' END,",
        "THEN 'published' ELSE 'published' END,",
        _CLAIMS,
    ),
    Change(
        "a message alone is not written to a thread that has changed since it was read",
        f"{_SHARED}/talk/said.py",
        "WHERE t.id = i.id AND t.xmin = CAST(i.seen AS xid) AND m.id = i.member_id",
        "WHERE t.id = i.id AND m.id = i.member_id",
        ("services/gateway/tests/test_posting.py",),
    ),
    Change(
        "a thread that has changed since it was read is not written to without its lock",
        f"{_SHARED}/talk/stored_changes.py",
        "(CAST(:seen AS text) IS NULL OR xmin = CAST(CAST(:seen AS text) AS xid))",
        "true",
        (*_POSTING, *_CLAIMS),
    ),
    Change(
        "the same client key is the same message",
        f"{_SHARED}/talk/posting.py",
        "if posted.text != message_text:",
        "if False:",
        ("services/gateway/tests/test_participants.py",),
    ),
    Change(
        "nothing is said in a thread that is held",
        f"{_SHARED}/talk/posting.py",
        "if scene.held:\n        raise Paused",
        "if False:\n        raise Paused",
        (*_POSTING, "tests/flows/test_pausing.py"),
    ),
    Change(
        "a member who acts must be in progress",
        f"{_SHARED}/talk/posting.py",
        "    lives.require_acting(scene.statuses[person.id])\n",
        "",
        (*_POSTING, "services/gateway/tests/test_alerts_both_ways.py", "tests/flows/test_paused_members.py"),
    ),
    Change(
        "a post limit is obeyed",
        f"{_SHARED}/talk/posting.py",
        "    if wait > 0:\n",
        "    if wait > 1e9:\n",
        _POSTING,
    ),
    Change(
        "an ask that is closed takes no second answer",
        f"{_SHARED}/answers/answering.py",
        "UPDATE asks SET state = :state, reason = :reason, closed_at = :now WHERE id = :ask_id AND state = 'open'",
        "UPDATE asks SET state = :state, reason = :reason, closed_at = :now WHERE id = :ask_id",
        _ANSWERS,
    ),
    Change(
        "an answer deletes what was begun",
        f"{_SHARED}/answers/answering.py",
        "WHERE (p.member_id, p.stage_id, p.key) = (a.member_id, a.stage_id, a.key)",
        "WHERE (p.member_id, p.stage_id, p.key) = (a.member_id, a.stage_id, 'none')",
        (*_ANSWERS, "services/gateway/tests/test_partial_answers.py"),
    ),
    Change(
        "what is begun is saved only where the page is open",
        f"{_SHARED}/answers/partial_answers.py",
        "AND EXISTS (SELECT FROM cohort_stages s WHERE s.cohort_id = m.cohort_id AND s.stage_id = :stage_id)",
        "",
        ("services/gateway/tests/test_partial_answers.py",),
    ),
    Change(
        "a member goes one stage further from where it is",
        f"{_SHARED}/answers/advancing.py",
        "WHERE id = :member_id AND position = :position AND status = 'in_progress'\n        RETURNING id",
        "WHERE id = :member_id AND status = 'in_progress'\n        RETURNING id",
        (*_ANSWERS, "services/gateway/tests/test_once.py", "tests/flows/test_lives_machine.py"),
    ),
    Change(
        "the timers of a member who is out are stopped",
        f"{_SHARED}/answers/advancing.py",
        "WHERE t.member_id = ended.id AND t.state IN ('armed', 'held')",
        "WHERE t.member_id = ended.id AND t.state IN ('held')",
        (
            "services/gateway/tests/test_stays.py",
            "services/gateway/tests/test_timers.py",
            "services/gateway/tests/test_waiting.py",
        ),
    ),
    Change(
        "an agent in the middle of a step takes no second one",
        f"{_SHARED}/answers/advancing.py",
        "FROM locked WHERE m.id = locked.id AND locked.rests",
        "FROM locked WHERE m.id = locked.id AND NOT locked.rests",
        ("tests/flows/test_steps_together.py", "services/orchestrator/tests/test_service.py"),
    ),
)

_TALKING: Final = (
    Change(
        "a thread that has ended says nothing more",
        f"{_SHARED}/talk/publishing.py",
        'if scene.ended:\n        return "ended"',
        'if False:\n        return "ended"',
        _TALK,
    ),
    Change(
        "a member who is ready to end says nothing more",
        f"{_SHARED}/talk/publishing.py",
        "if not author.present or author.id in scene.turn.ready:",
        "if not author.present:",
        _TALK,
    ),
    Change(
        "an agent says at most so many messages",
        f"{_SHARED}/talk/publishing.py",
        "if author.chat.max_responses is not None and spoken >= author.chat.max_responses:",
        "if author.chat.max_responses is not None and spoken > author.chat.max_responses:",
        _TALK,
    ),
    Change(
        "a reply waits for its typing delay",
        f"{_SHARED}/talk/publishing.py",
        "if draft.due_at is not None and draft.due_at <= scene.now)",
        "if draft.due_at is not None)",
        (*_TALK, "tests/flows/test_typing.py"),
    ),
    Change(
        "openings come before replies in pace fast",
        f"{_SHARED}/talk/publishing.py",
        "key=lambda draft: (not draft.is_opening, draft.finish_ms or 0, draft.path))",
        "key=lambda draft: (draft.finish_ms or 0, draft.path))",
        (*_TALK, "tests/flows/test_simulated_time.py"),
    ),
    Change(
        "of replies that are ready together that of the author who has said least goes first",
        f"{_SHARED}/talk/publishing.py",
        "key=lambda draft: (_spoken_before(scene, draft), draft.due_at, draft.path))",
        "key=lambda draft: (draft.due_at, draft.path))",
        (*_TALK, "tests/flows/test_speaking.py"),
    ),
    Change(
        "a late reply is too late after so many messages",
        f"{_SHARED}/talk/scene.py",
        "return self.turn.said <= self.turn.late.get(draft.trigger_key, -1)",
        "return draft.trigger_key in self.turn.late",
        _TALK,
    ),
    Change(
        "drafts of paused members hold up nobody",
        f"{_SHARED}/talk/scene.py",
        'if self.statuses.get(draft.member_id) != "paused")',
        "if True)",
        (*_TALK, "tests/flows/test_paused_members.py"),
    ),
    Change(
        "a person's message ends the run of agents",
        f"{_SHARED}/talk/changes.py",
        "agent_run=0 if is_person else scene.agent_run + (turn.person_spoke_at <= turn.said - overlooked),",
        "agent_run=scene.agent_run + (not is_person and turn.person_spoke_at <= turn.said - overlooked),",
        (*_TALK, "tests/flows/test_speaking.py"),
    ),
    Change(
        "a member who is ready leaves only after the minimum time",
        f"{_SHARED}/talk/changes.py",
        "return with_goodbye(change, author) if _may_leave(scene) else change",
        "return with_goodbye(change, author)",
        (*_TALK, "tests/flows/test_leaving.py"),
    ),
    Change(
        "readiness for an earlier topic is forgotten",
        f"{_SHARED}/talk/changes.py",
        "is_about_this = draft.as_of_seq >= scene.turn.topic_since_seq",
        "is_about_this = True",
        _TALK,
    ),
    Change(
        "a draft that a worker thinks about is left to it when the thread ends",
        f"{_SHARED}/talk/changes.py",
        'left = tuple(draft for draft in scene.drafts if draft.state != "thinking")',
        "left = tuple(scene.drafts)",
        (*_TALK, "tests/flows/test_ending.py"),
    ),
    Change(
        "a conversation waits for members who are still expected",
        f"{_SHARED}/talk/asking.py",
        "if any(member.awaited for member in scene.members):",
        "if False:",
        (*_TALK, "tests/flows/test_waited_for.py"),
    ),
    Change(
        "an agent that has said all it may counts as done with a topic",
        f"{_SHARED}/talk/asking.py",
        "if member.id not in scene.turn.done and not _has_said_all(scene, member)]",
        "if member.id not in scene.turn.done]",
        _TALK,
    ),
    Change(
        "messages in quick succession are asked about once",
        f"{_SHARED}/talk/quiet.py",
        "if scene.ended or scene.turn.quiet_timer != number:",
        "if scene.ended:",
        _TALK,
    ),
    Change(
        "a wake-up that a message has overtaken asks nobody",
        f"{_SHARED}/talk/engine.py",
        "if scene.ended or not turn.is_waking or turn.wake_ups != number:",
        "if scene.ended or turn.wake_ups != number:",
        _TALK,
    ),
    Change(
        "mediators are asked before participants",
        f"{_SHARED}/kinds/chat/speaking.py",
        'return ("participant", "mediator") if is_mediators else ("mediator", "participant")',
        'return ("participant", "mediator")',
        (f"{_SHARED}/kinds/stages/group_chat/tests", *_TALK),
    ),
    Change(
        "an agent does not answer itself unless it may",
        f"{_SHARED}/kinds/chat/speaking.py",
        "and (thread.last.author_id != member.id or may_follow_itself(speaker, thread))",
        "",
        (f"{_SHARED}/kinds/stages/group_chat/tests", *_TALK),
    ),
    Change(
        "an agent waits for as many messages as its file says",
        f"{_SHARED}/kinds/chat/speaking.py",
        "return thread.message_count >= speaker.member.chat.min_messages_before_responding",
        "return thread.message_count > speaker.member.chat.min_messages_before_responding",
        (f"{_SHARED}/kinds/stages/group_chat/tests", *_TALK),
    ),
    Change(
        "a sign of typing lasts until it ends",
        f"{_SHARED}/talk/typing_hints.py",
        "LASTS_MS: Final = ",
        "LASTS_MS: Final = 0 * ",
        (
            "services/gateway/tests/test_typing.py",
            "services/gateway/tests/test_typists.py",
            "tests/flows/test_typing.py",
        ),
    ),
)

_PLACES: Final = (
    Change(
        "a seat is taken once",
        f"{_SHARED}/people/joining.py",
        "WHERE m.experiment_id = :experiment_id AND m.status = 'expected'\n            AND (CAST(:cohort_id",
        "WHERE m.experiment_id = :experiment_id AND m.status IN ('expected', 'in_progress') AND m.player = 'person'\n"
        "            AND (CAST(:cohort_id",
        _JOINING,
    ),
    Change(
        "nobody joins a locked group",
        f"{_SHARED}/people/joining.py",
        "    if place.locked:\n        raise Conflict(_LOCKED",
        "    if False:\n        raise Conflict(_LOCKED",
        (*_JOINING, "services/gateway/tests/test_looking_after.py"),
    ),
    Change(
        "a person who comes back gets the place they had",
        f"{_SHARED}/people/joining.py",
        "        if place is not None:\n            # Where",
        "        if False:\n            # Where",
        _JOINING,
    ),
    Change(
        "coming back needs the old token where the file says so",
        f"{_SHARED}/people/joining.py",
        'if row.rejoin == "token" and',
        'if row.rejoin == "tokens" and',
        _JOINING,
    ),
    Change(
        "somebody who has declined gets no second place",
        f"{_SHARED}/people/joining.py",
        "AND declined_id_hash IN (:hash, :keyed) RETURNING id",
        "AND declined_id_hash IN (:hash) RETURNING id",
        (*_JOINING, "tests/flows/test_terms_of_service.py"),
    ),
    Change(
        "a person who has come back meanwhile is not marked as gone",
        f"{_SHARED}/people/presence.py",
        "WHERE member_id = :member_id AND gone_at IS NULL AND seen_at < :before",
        "WHERE member_id = :member_id AND gone_at IS NULL AND seen_at < now()",
        _PRESENCE,
    ),
    Change(
        "what happens to people who are gone waits for its time",
        f"{_SHARED}/people/presence.py",
        "is_due = row.since + timedelta(seconds=stage.gone_after_seconds) <= now",
        "is_due = True",
        _PRESENCE,
    ),
    Change(
        "a stage waits for everybody where the file says so",
        f"{_ORCHESTRATOR}/rules.py",
        "if stage.progress.wait_for_all and not has_waited:",
        "if False:",
        _RULES,
    ),
    Change(
        "a stage opens with the fewest participants that its file names",
        f"{_ORCHESTRATOR}/rules.py",
        "if len(arrived) < stage.progress.min_participants:",
        "if len(arrived) + 1 < stage.progress.min_participants:",
        _RULES,
    ),
    Change(
        "a member who is out is not waited for",
        f"{_SHARED}/contracts/lives.py",
        'COUNTED: Final[tuple[State, ...]] = ("expected", *ARRIVED)',
        'COUNTED: Final[tuple[State, ...]] = ("expected", "left", *ARRIVED)',
        (*_RULES, "shared/tests/contracts/test_lives.py"),
    ),
    Change(
        "an agent does not read the answers of others unless the file says so",
        f"{_BUILDER}/items.py",
        "seen = view if with_answers or ask is not None else replace(view, own={}, shown={})",
        "seen = view if with_answers or ask is not None else replace(view, own={})",
        _SEEN,
    ),
    Change(
        "words of members look like no line of the prompt",
        f"{_BUILDER}/items.py",
        "line if line.startswith(_INDENT) else _INDENT + line for line in rest",
        "line for line in rest",
        _SEEN,
    ),
    Change(
        "a private text is read by its audience alone",
        f"{_SHARED}/contracts/audience.py",
        "return reader is None or audience is None or reader == author or reader in audience",
        "return True",
        (*_SEEN, "tests/flows/test_visibility.py"),
    ),
    Change(
        "a quote is shown where all readers may read it",
        f"{_SHARED}/contracts/audience.py",
        "return all(may_read(reader, author=quoted_author, audience=quoted_audience) for reader in audience)",
        "return any(may_read(reader, author=quoted_author, audience=quoted_audience) for reader in audience)",
        _SEEN,
    ),
    Change(
        "members who are out read no thread",
        f"{_SHARED}/contracts/audience.py",
        "return status not in OUT and stage_id in reached",
        "return stage_id in reached",
        (*_SEEN, "services/gateway/tests/test_reading.py", "services/gateway/tests/test_opened_threads.py"),
    ),
)

_CALLS: Final = (
    Change(
        "an experiment makes at most so many calls",
        f"{_SHARED}/drafts/limits.py",
        "WHERE experiment_id = :id AND taken < most RETURNING taken",
        "WHERE experiment_id = :id AND taken <= most RETURNING taken",
        ("services/agent-worker/tests/test_call_limits.py",),
    ),
    Change(
        "calls in flight stay within the limit of a key",
        f"{_SHARED}/contracts/limits.py",
        "granted = max(0, min(demand.wanted, free - ahead, share - demand.held))",
        "granted = max(0, min(demand.wanted, share - demand.held))",
        _LIMITS,
    ),
    Change(
        "requests count for a minute",
        f"{_SHARED}/contracts/limits.py",
        "if int(at) > now - WINDOW_SECONDS - 1",
        "if int(at) > now - WINDOW_SECONDS + 20",
        _LIMITS,
    ),
    Change(
        "the worker that has waited longest goes first",
        f"{_SHARED}/contracts/limits.py",
        "ahead = sum(1 for at in waiting if since is None or at < since)",
        "ahead = 0",
        _LIMITS,
    ),
    Change(
        "a thought that never ends makes a reply unreadable",
        f"{_SHARED}/base/replies/thoughts.py",
        "    if open_tags:\n        raise OpenThought",
        "    if False:\n        raise OpenThought",
        _REPLIES,
    ),
    Change(
        "a closing tag alone ends a thought",
        f"{_SHARED}/base/replies/thoughts.py",
        "        elif not open_tags:\n            said.clear()",
        "        elif not open_tags:\n            pass",
        _REPLIES,
    ),
    Change(
        "a line in another's name is not said",
        f"{_SHARED}/base/replies/names.py",
        "            if other:\n",
        "            if False:\n",
        (*_REPLIES, "tests/flows/test_forms_of_replies.py"),
    ),
    Change(
        "answers that are missing make no comparison true",
        f"{_SHARED}/base/rules.py",
        "    if answer is _MISSING or answer is None:\n        return False",
        '    if answer is _MISSING or answer is None:\n        return rule.operator.startswith("not")',
        ("shared/tests/base/test_rules.py",),
    ),
    Change(
        "an empty `any` is true",
        f"{_SHARED}/base/rules.py",
        "return not rule.any or any(",
        "return any(",
        ("shared/tests/base/test_rules.py",),
    ),
    Change(
        "true is not 1",
        f"{_SHARED}/base/rules.py",
        "    if isinstance(left, bool) or isinstance(right, bool):\n        return left is right\n",
        "",
        ("shared/tests/base/test_rules.py",),
    ),
    Change(
        "what is drawn at one place depends on no other place",
        f"{_SHARED}/base/seeds.py",
        'digest = hashlib.sha256(f"{seed}\\x00{path}".encode()).digest()\n    return random.Random',
        'digest = hashlib.sha256(f"{seed}".encode()).digest()\n    return random.Random',
        ("shared/tests/base", "shared/tests/kinds/test_contract.py"),
    ),
)

_KINDS: Final = (
    Change(
        "TFT copies the last action",
        f"{_SHARED}/kinds/stages/matrix_game/policies.py",
        'return "D" if other.endswith("D") else "C"\n\n\ndef _grim',
        'return "D" if "D" in other else "C"\n\n\ndef _grim',
        _GAMES,
    ),
    Change(
        "GRIM never forgives",
        f"{_SHARED}/kinds/stages/matrix_game/policies.py",
        'return "D" if "D" in other else "C"',
        'return "D" if "D" in other[-2:] else "C"',
        _GAMES,
    ),
    Change(
        "GTFT forgives with its generosity",
        f"{_SHARED}/kinds/stages/matrix_game/policies.py",
        'other.endswith("D") and luck >= generosity',
        'other.endswith("D") and luck > 1 - generosity',
        _GAMES,
    ),
    Change(
        "a forgiving persona forgives one defection",
        f"{_SHARED}/kinds/stages/matrix_game/policies.py",
        'other.endswith("DD") else "C"',
        'other.endswith("D") else "C"',
        _GAMES,
    ),
    Change(
        "a candidate without a place is below all that have one",
        f"{_SHARED}/kinds/stages/ranking/election.py",
        "places.get(one, len(places)), places.get(other, len(places))",
        "places.get(one, 0), places.get(other, 0)",
        (f"{_SHARED}/kinds/stages/ranking/tests",),
    ),
    Change(
        "the drawn numbers break ties",
        f"{_SHARED}/kinds/stages/ranking/election.py",
        "key=lambda candidate: (tie_breaks.get(candidate, 0), candidates.index(candidate))",
        "key=lambda candidate: candidates.index(candidate)",
        (f"{_SHARED}/kinds/stages/ranking/tests",),
    ),
    Change(
        "amounts are rounded up to the next cent",
        f"{_SHARED}/kinds/stages/payout/reckoning.py",
        "ROUND_CEILING)",
        "'ROUND_HALF_EVEN')",
        (f"{_SHARED}/kinds/stages/payout/tests",),
    ),
    Change(
        "the base is paid for a stage that was completed",
        f"{_SHARED}/kinds/stages/payout/reckoning.py",
        "base=item.base if read.is_completed else _ZERO,",
        "base=item.base,",
        (f"{_SHARED}/kinds/stages/payout/tests", "tests/flows/test_payout.py"),
    ),
    Change(
        "points below none cost nothing",
        f"{_SHARED}/kinds/stages/payout/reckoning.py",
        "return max(_ZERO, Decimal(str(points)))",
        "return Decimal(str(points))",
        (f"{_SHARED}/kinds/stages/payout/tests",),
    ),
    Change(
        "an item that was not selected is not paid",
        f"{_SHARED}/kinds/stages/payout/reckoning.py",
        "if item.selection is None or selected.get(item.selection) == item.id]",
        "if True]",
        (f"{_SHARED}/kinds/stages/payout/tests",),
    ),
)

CHANGES: Final[tuple[Change, ...]] = _CORE + _TALKING + _PLACES + _CALLS + _KINDS
