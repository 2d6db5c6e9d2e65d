"""What must hold after any storm: queries that find what is wrong, and a comparison with what clients were told."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from parley_lab.contracts.lives import STILL_IN, in_sql
from tests.storms.ledger import Heard, Ledger
from tests.storms.models import Call
from tests.storms.servers import Rows

# Each finds the rows that are wrong, in a lab in which every experiment should have ended.
DOUBLED: Final = {
    "a trigger was answered more than once": """
        SELECT thread_id, trigger_key FROM messages WHERE trigger_key IS NOT NULL
        GROUP BY 1, 2 HAVING count(*) > 1""",
    "a message has not exactly one event": """
        SELECT m.id FROM messages m
        LEFT JOIN events e ON e.type = 'message.created' AND e.payload ->> 'id' = m.id::text
        GROUP BY m.id HAVING count(e.seq) <> 1""",
    "a reply was published without its claim": """
        SELECT m.id FROM messages m LEFT JOIN trigger_log l ON l.message_id = m.id
        WHERE m.author_kind = 'agent' AND m.trigger_key IS NOT NULL AND l.message_id IS NULL""",
}
LOST: Final = {
    "messages of a conversation have a gap": """
        SELECT thread_id FROM messages GROUP BY 1 HAVING count(*) <> max(seq) OR min(seq) <> 1""",
    "a conversation has other messages than it counted": """
        SELECT t.id FROM threads t LEFT JOIN messages m ON m.thread_id = t.id
        GROUP BY t.id HAVING count(m.id) <> t.last_seq""",
    "a stream has a gap": """
        SELECT s.cohort_id FROM streams s LEFT JOIN events e ON e.cohort_id = s.cohort_id
        GROUP BY s.cohort_id, s.last
        HAVING count(e.stream_seq) <> s.last OR coalesce(max(e.stream_seq), 0) <> s.last""",
    "a claim has no message": """
        SELECT l.trigger_key FROM trigger_log l LEFT JOIN messages m ON m.id = l.message_id WHERE m.id IS NULL""",
    "an answered ask has no answer": """
        SELECT a.id FROM asks a LEFT JOIN answers w
            ON w.member_id = a.member_id AND w.stage_id = a.stage_id AND w.key = a.key
        WHERE a.state = 'answered' AND w.member_id IS NULL""",
}
_STILL_IN: Final = f"SELECT path, status FROM members WHERE status IN {in_sql(STILL_IN)}"  # noqa: S608 - constants
STUCK: Final = {
    "a draft is open": "SELECT path FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')",
    "an ask is open": "SELECT path FROM asks WHERE state = 'open'",
    "a timer is armed or held": "SELECT path FROM timers WHERE state IN ('armed', 'held')",
    "a conversation is open": "SELECT path FROM threads WHERE ended_at IS NULL",
    "a hint waits": "SELECT id FROM outbox",
    "a cohort is not settled": "SELECT cohort_id FROM streams WHERE settled < unsettled",
    "a member is neither at an end nor out": _STILL_IN,
    "an experiment goes on": "SELECT name FROM experiments WHERE status <> 'ended'",
}


@dataclass
class Findings:
    """What was wrong, by what it comes to; each with what it is about."""

    lost: dict[str, list[Any]] = field(default_factory=dict)
    doubled: dict[str, list[Any]] = field(default_factory=dict)
    stuck: dict[str, list[Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.stuck)


async def check(rows: Rows, ledger: Ledger) -> Findings:
    """Everything but the calls of models, which only those can judge who know what has disturbed them."""
    found = Findings()
    for told, queries in ((found.lost, LOST), (found.doubled, DOUBLED), (found.stuck, STUCK)):
        for name, query in queries.items():
            if wrong := await rows(query):
                told[name] = wrong
    await _check_posts(rows, ledger, found)
    await _check_answers(rows, ledger, found)
    await _check_streams(rows, ledger, found)
    return found


_POSTS: Final = "SELECT id, member_id, client_key, text FROM messages WHERE author_kind = 'person'"


async def _check_posts(rows: Rows, ledger: Ledger, found: Findings) -> None:
    stored = await rows(_POSTS)
    times = Counter((str(row["member_id"]), row["client_key"]) for row in stored)
    texts = {str(row["id"]): row["text"] for row in stored}
    _note(
        found.lost,
        "an accepted message is lost",
        [one for one in ledger.posts if texts.get(one.message_id) != one.text],
    )
    _note(found.doubled, "a message is stored twice", [key for key, count in times.items() if count > 1])


async def _check_answers(rows: Rows, ledger: Ledger, found: Findings) -> None:
    stored = {(str(row["member_id"]), row["stage_id"], row["key"]): row["value"] for row in await rows(_ANSWERS)}
    lost = [one for one in ledger.answers if not keeps(stored.get((one.member_id, one.stage_id, one.key)), one.value)]
    _note(found.lost, "an accepted answer is lost", lost)


def keeps(stored: Any, given: Any) -> bool:
    """Whether the stored answer is the one that was given; a stage may store more beside its fields."""
    if isinstance(stored, dict) and isinstance(given, dict):
        return all(name in stored and stored[name] == value for name, value in given.items())
    return bool(stored == given)


_ANSWERS: Final = "SELECT member_id, stage_id, key, value FROM answers WHERE value IS NOT NULL"
_MESSAGES: Final = """
    SELECT e.cohort_id, e.stream_seq, e.audience, t.stage_id FROM events e
    JOIN threads t ON t.id::text = e.payload ->> 'thread_id'
    WHERE e.type = 'message.created' ORDER BY 1, 2
"""
_MOVES: Final = """
    SELECT subject_id AS member_id, type, payload ->> 'to_stage_id' AS stage_id, cohort_id, stream_seq
    FROM events WHERE type IN ('member.moved', 'member.arrived', 'member.transferred') ORDER BY seq
"""
_ENDS: Final = """
    SELECT DISTINCT ON (subject_id) subject_id AS member_id, cohort_id, stream_seq FROM events
    WHERE type = 'member.moved' AND payload ->> 'to_stage_id' IS NULL ORDER BY subject_id, seq DESC
"""
_FIRST_STAGES: Final = "SELECT DISTINCT stage_ids[1] AS stage_id FROM members"


@dataclass
class Stay:
    """A member's time in a cohort: between which events, and by which they came to each stage."""

    cohort_id: str
    after: int = 0
    until: float = inf
    came: dict[str, int] = field(default_factory=dict)


async def _check_streams(rows: Rows, ledger: Ledger, found: Findings) -> None:
    said: dict[str, list[dict[str, Any]]] = {}
    for row in await rows(_MESSAGES):
        said.setdefault(str(row["cohort_id"]), []).append(row)
    first = {row["stage_id"] for row in await rows(_FIRST_STAGES)}
    stays_of = stays(await rows(_MOVES), first)
    ends = {str(row["member_id"]): (str(row["cohort_id"]), row["stream_seq"]) for row in await rows(_ENDS)}
    missing, twice, behind = [], [], []
    for heard in ledger.streams:
        cohort_id, end = ends.get(heard.member_id, (heard.cohort_id, 0))
        if heard.is_open and cohort_id != heard.cohort_id:
            behind.append(heard.member_id)
        due = max(heard.until, end) if heard.is_open and cohort_id == heard.cohort_id else heard.until
        there = stays_of.get(heard.member_id) or [Stay(heard.cohort_id, came=dict.fromkeys(first, 0))]
        for_them = [
            row["stream_seq"]
            for row in said.get(heard.cohort_id, ())
            if _is_for(heard, due, row) and was_there(there, row)
        ]
        missing += [(heard.member_id, seq) for seq in set(for_them) - set(heard.messages)]
        if len(heard.messages) != len(set(heard.messages)) or heard.messages != sorted(heard.messages):
            twice.append(heard.member_id)
    _note(found.lost, "a message is missing on a live stream", missing)
    _note(found.lost, "a live stream stayed behind in another cohort", behind)
    _note(found.doubled, "a live stream told a message twice, or out of order", twice)


def stays(moves: Iterable[dict[str, Any]], first: Iterable[str]) -> dict[str, list[Stay]]:
    """The stays of each member who has moved at all, the first one first."""
    found: dict[str, list[Stay]] = {}
    for row in moves:
        cohort_id, seq = str(row["cohort_id"]), row["stream_seq"]
        mine = found.setdefault(str(row["member_id"]), [])
        if row["type"] == "member.arrived":
            at = list(mine[-1].came)[-1:] if mine else [*first]
            mine.append(Stay(cohort_id, seq, came=dict.fromkeys(at, seq)))
            continue
        last = next((one for one in reversed(mine) if one.cohort_id == cohort_id), None)
        if last is None:
            # A member begins on the first stage, which no event tells of.
            last = Stay(cohort_id, came=dict.fromkeys(first, 0))
            mine.insert(0, last)
        if row["type"] == "member.transferred":
            last.until = seq
        else:
            last.came[row["stage_id"]] = seq
    return found


def _is_for(heard: Heard, due: int, row: dict[str, Any]) -> bool:
    is_meant = row["audience"] is None or heard.member_id in map(str, row["audience"])
    return is_meant and heard.after < row["stream_seq"] <= due


def was_there(there: Iterable[Stay], row: dict[str, Any]) -> bool:
    """Streams tell of a stage only who has come to it in this stay, or was on it when the stay began."""
    cohort_id, stage_id, seq = str(row["cohort_id"]), row["stage_id"], row["stream_seq"]
    return any(
        stay.cohort_id == cohort_id and stay.after < seq < stay.until and stay.came.get(stage_id, inf) < seq
        for stay in there
    )


def _note(told: dict[str, list[Any]], name: str, wrong: list[Any]) -> None:
    if wrong:
        told[name] = wrong


async def made_again(rows: Rows, calls: Iterable[Call]) -> list[Call]:
    """Calls that reached the endpoint for nothing: of which no row tells, or whose reply came after the lease was lost.

    A row and a call with one prompt belong together by their time; the clock of a worker may be wrong.
    """
    recorded: dict[str, list[dict[str, Any]]] = {}
    for row in await rows(_CALLS):
        recorded.setdefault(row["prompt_hash"], []).append(row)
    made: dict[str, list[Call]] = {}
    for call in calls:
        made.setdefault(call.prompt_hash, []).append(call)
    again: list[Call] = []
    for prompt_hash, of_prompt in made.items():
        told = recorded.get(prompt_hash, [])
        apart = sorted(
            (abs(call.at - row["started_at"]), at, place)
            for at, call in enumerate(of_prompt)
            for place, row in enumerate(told)
        )
        row_of: dict[int, int] = {}
        taken: set[int] = set()
        for _, at, place in apart:
            if at not in row_of and place not in taken:
                row_of[at] = place
                taken.add(place)
        again += [call for at, call in enumerate(of_prompt) if at not in row_of or told[row_of[at]]["is_again"]]
    return again


_CALLS: Final = """
    SELECT prompt_hash, started_at, status = 'ok' AND EXISTS (SELECT FROM model_calls later
        WHERE later.draft_id = c.draft_id AND later.part = c.part AND later.status = 'ok'
            AND later.attempt > c.attempt) AS is_again
    FROM model_calls c WHERE status <> 'unreachable'
"""
