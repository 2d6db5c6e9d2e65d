"""The studies that are watched. Every secret in them is a unique word."""

from typing import Any, Final

Data = dict[str, Any]

PEOPLE: Final = ("ada", "bea", "cid", "dan", "eve")
"""They join the cohort in this order. Cid comes to the conversation late, Dan leaves, Eve is removed, Bea goes on."""
AGENTS: Final = ("gus", "hal", "mia")
"""Mia is the mediator."""
ARM_OF_AGENTS: Final = (("gus", "a"), ("hal", "b"))


def persona(name: str) -> Data:
    return {
        "id": f"personacanary-{name}",
        "profile": {"name": name.title()},
        "text": f"textcanary-{name}",
        "role": f"rolecanary-{name}",
        "goal": f"goalcanary-{name}",
        "backstory": f"storycanary-{name}",
        "attributes": {"trait": f"traitcanary-{name}"},
        "pages": {"reading_words_per_minute": 0, "writing_words_per_minute": 0},
        "model": {"provider": "openai", "model": f"modelcanary-{name}", "max_attempts": 1},
    }


def question(question_id: str) -> list[Data]:
    return [{"id": question_id, "kind": "text", "title": f"{question_id.title()}?"}]


WHY: Final = question("why")
STUDY: Final[Data] = {
    "parley": 1,
    "name": "A watched study",
    "seed": 0,
    "pace": "live",
    "look_back": "all",
    "model_mode": "real",
    "personas": [persona(name) for name in AGENTS],
    "stages": [
        {"id": "told", "kind": "survey", "questions": question("told"), "audience": "cohort"},
        {"id": "guided", "kind": "survey", "questions": question("guided"), "audience": "mediators"},
        {"id": "before", "kind": "survey", "questions": WHY, "description": "{{own}}"},
        {"id": "talk", "kind": "group_chat", "max_agent_run": 1, "progress": {"wait_for_all": False}},
        {"id": "after", "kind": "survey", "questions": WHY},
    ],
    "cohorts": [
        {
            "id": "watched",
            "seats": [
                {"open": True, "count": 2, "treatment": "armcanary-a"},
                {"open": True, "count": 3, "treatment": "armcanary-b"},
                *({"persona": f"personacanary-{name}", "treatment": f"armcanary-{arm}"} for name, arm in ARM_OF_AGENTS),
            ],
            "mediators": ["personacanary-mia"],
        },
        {"id": "next-door", "seats": [{"open": True, "treatment": "armcanary-c"}]},
    ],
    "variables": {"own": ""},
    "treatments": [{"id": f"armcanary-{arm}", "variables": {"own": f"armsayscanary-{arm}"}} for arm in "abc"],
    "allocation": {"by": "participant"},
}
OTHER_STUDY: Final[Data] = {
    "parley": 1,
    "name": "Of somebody else",
    "seed": 0,
    "pace": "live",
    "look_back": "all",
    "stages": [stage for stage in STUDY["stages"] if stage["id"] == "talk"],
    "cohorts": [{"seats": [{"open": True}]}],
}

STEPS_STUDY: Final[Data] = {
    "parley": 1,
    "name": "What people answer alone and about each other",
    "seed": 0,
    "pace": "live",
    "look_back": "all",
    "stages": [
        {
            "id": "check",
            "kind": "comprehension",
            "questions": [{"id": "town", "kind": "text", "title": "Which town?", "correct": "rightanswercanary"}],
        },
        {"id": "terms", "kind": "terms_of_service", "lines": ["Be kind."], "delete_when_declined": True},
        {"id": "who", "kind": "profile"},
        {"id": "others", "kind": "survey_per_participant", "questions": WHY},
    ],
    "cohorts": [{"id": "steps", "seats": [{"open": True, "count": 3}]}],
}
"""Kay and Lee go through all of it; Mu declines the terms."""

SHOWN_STUDY: Final[Data] = {
    "parley": 1,
    "name": "What is shown of earlier stages",
    "seed": 0,
    "pace": "live",
    "look_back": "all",
    # Oli passes a check after all have read everything, however long that takes.
    "attention_checks": {"seconds": 600},
    "stages": [
        {
            "id": "parts",
            "kind": "role",
            "roles": [
                {"id": "chair", "lines": ["chaircanary"], "min_participants": 1, "max_participants": 1},
                {"id": "peer", "lines": ["peercanary"]},
            ],
        },
        {
            "id": "kept",
            "kind": "survey",
            "description": [{"text": "chairtextcanary", "for": "chair"}, {"text": "peertextcanary", "for": "peer"}],
            "questions": question("kept"),
        },
        {"id": "shared", "kind": "survey", "questions": question("shared")},
        {
            "id": "vote",
            "kind": "ranking",
            "rank": "items",
            "items": [{"id": "buses", "text": "Buses"}, {"id": "trams", "text": "Trams"}],
        },
        {
            "id": "outcome",
            "kind": "reveal",
            "items": [{"stage": "kept"}, {"stage": "shared", "audience": "all"}, {"stage": "vote", "show": "result"}],
        },
        {
            "id": "paid",
            "kind": "payout",
            "items": [{"id": "come", "stage": "kept", "base": "1097.31", "description": "paycanary"}],
        },
        {
            "id": "look",
            "kind": "info",
            "lines": ["Look."],
            "media": [{"link": "https://example.org", "alt": "altcanary", "caption": "captioncanary"}],
        },
        {
            "id": "stocks",
            "kind": "stock_info",
            "require_view_all": False,
            "stocks": [{"id": "rail", "name": "stockcanary", "prices": "date,close\n2022-01-03,100\n2022-12-30,90\n"}],
        },
        {
            "id": "portfolio",
            "kind": "asset_allocation",
            "assets": [{"id": "rail", "name": "assetcanary"}, {"id": "cash", "name": "Cash"}],
            "step": 1,
        },
    ],
    "cohorts": [
        {"id": "shown", "seats": [{"open": True, "count": 2}]},
        {"id": "apart", "seats": [{"open": True}]},
    ],
}
"""Nia and Oli are in one cohort, Pam in another. All come to the outcome, and Nia goes through to the end."""
