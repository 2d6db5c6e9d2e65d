"""The mixed study of the suite: people and agents talk, are interviewed, play, answer and rank."""

from typing import Any, Final

Json = Any

POSTS: Final = 8
"""How many messages each person says in the conversation."""
_ROLES: Final = ("A", "B", "C")
# A storm of the endpoint must not use up an agent's attempts.
_MODEL: Final = {"provider": "openai", "model": "fake", "max_attempts": 20}


def mixed(seed: int, cohorts: int, turn_taking: str) -> Json:
    """An experiment with so many cohorts of two people, two agents and a mediator."""
    yes_or_no = {"type": "list", "values": ["yes", "no"]}
    asked = [{"role": role, "text": "Was it fair?", "options": yes_or_no} for role in _ROLES]
    return {
        "parley": 1,
        "name": f"Storm {seed}",
        "seed": seed,
        # Each stream is checked to the last message, also where its reader has gone on.
        "look_back": "all",
        "pace": "live",
        "model_mode": "real",
        "personas": [
            _persona("ana", max_responses=6),
            _persona("ben", max_responses=6),
            {**_persona("mia", max_responses=3), "mediates_in": ["talk"]},
        ],
        "stages": [
            {
                "id": "before",
                "kind": "survey",
                "questions": [
                    {"id": "view", "kind": "scale", "title": "Your view", "lower": 1, "upper": 7},
                    {"id": "why", "kind": "text", "title": "Why?"},
                ],
            },
            {
                "id": "talk",
                "kind": "group_chat",
                "turn_taking": turn_taking,
                "max_agent_run": 3,
                "post_limit": None,
                "time_limit_seconds": 60,
            },
            {
                "id": "interview",
                "kind": "group_interview",
                "roles": [{"label": role, "description": "You are one of four."} for role in (*_ROLES, "D")],
                "tasks": [
                    {"id": "open", "type": "discussion", "text": "How was it?", "variable": "open"},
                    {"id": "fair", "type": "private_question", "questions": asked, "variable": "fair"},
                ],
            },
            {"id": "game", "kind": "beauty_contest", "rounds": 2},
            {
                "id": "order",
                "kind": "ranking",
                "rank": "items",
                "items": [{"id": one, "text": one} for one in ("safe", "quiet", "cheap")],
            },
            {"id": "after", "kind": "survey", "questions": [{"id": "how", "kind": "text", "title": "How was it?"}]},
        ],
        "cohorts": [
            {
                "count": cohorts,
                "seats": [{"open": True, "count": 2}, {"persona": "ana"}, {"persona": "ben"}],
                "mediators": ["mia"],
            }
        ],
    }


def lone_talks(seed: int) -> Json:
    """An experiment in which everybody who comes talks with a guide alone."""
    return {
        "parley": 1,
        "name": "Canaries",
        "seed": seed,
        "look_back": "all",
        "pace": "live",
        "model_mode": "real",
        "personas": [_persona("guide", max_responses=5)],
        "stages": [{"id": "alone", "kind": "private_chat", "turn_based": False}],
        "cohorts": [{"made": "on_arrival", "count": 5000, "seats": [{"open": True}], "mediators": ["guide"]}],
    }


def _persona(name: str, *, max_responses: int) -> Json:
    return {
        "id": name,
        "profile": {"name": name.title()},
        "text": f"You are {name.title()}.",
        "model": _MODEL,
        "pages": {"reading_words_per_minute": None, "writing_words_per_minute": None},
        "chat": {"words_per_minute": 0, "max_responses": max_responses},
    }
