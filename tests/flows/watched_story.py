"""What happens in the studies that are watched, and what every reader is given meanwhile."""

import asyncio
from pathlib import Path

from structlog.testing import capture_logs

from parley_lab.base.settings import ServerSettings
from tests.flows.watched_studies import OTHER_STUDY, PEOPLE, SHOWN_STUDY, STEPS_STUDY, STUDY
from tests.flows.watching import LIBRARY_PERSONA, Evidence, Watcher, watched_lab

STEPS_PEOPLE = ("kay", "lee", "mu")
STRANGERS = {"fay", "zoe", "nobody", "liar", "mallory"}
"""In another cohort; in another study; without a token; with a made-up one; the owner of the other study."""


async def steps_are_taken(watcher: Watcher) -> None:
    """The study of the kinds that people go through alone, or in which they answer about each other."""
    steps = await watcher.create("owner", STEPS_STUDY)
    for who in STEPS_PEOPLE:
        await watcher.join(who, steps)
        watcher.follow(who)
        await watcher.answer_ask(who, "attempt:1", {"town": f"attemptcanary-{who}"})
        await watcher.answer_ask(
            who, "attempt:2", {"town": "rightanswercanary" if who == "kay" else "RightAnswerCanary"}
        )
    for who in STEPS_PEOPLE:
        await watcher.goes_on(who, "check")
        await watcher.comes_to(who, "terms")
        await watcher.answer(who, "terms", {"accepted": who != "mu"})
    for who in ("kay", "lee"):
        await watcher.answer(who, "who", {"name": f"namecanary-{who}"})
    for who in ("kay", "lee"):
        (field,) = (await watcher.comes_to(who, "others"))["forms"][0]["form"]["properties"]
        await watcher.answer(who, "others", {field: f"aboutcanary-{who}"})


async def first_answers_are_given(watcher: Watcher) -> None:
    """The study of the kinds that show what earlier stages found, up to where only Oli has not answered yet."""
    shown = await watcher.create("owner", SHOWN_STUDY)
    for who, cohort in (("nia", "shown"), ("oli", "shown"), ("pam", "apart")):
        await watcher.join(who, shown, cohort)
        watcher.follow(who)
    for who in ("nia", "oli", "pam"):
        await watcher.comes_to(who, "parts")
        await watcher.answer(who, "parts", None)
        await watcher.answer(who, "kept", {"kept": f"keptcanary-{who}"})
    for who in ("nia", "pam"):
        await watcher.answer(who, "shared", {"shared": f"sharedcanary-{who}"})
    await staff_look_after_them(watcher)


async def staff_look_after_them(watcher: Watcher) -> None:
    """Oli is asked whether she is there, Nia is told something, and Pam asks for help."""
    facts = watcher.evidence.facts
    said = [
        await watcher.ask("owner", "POST", f"/v1/members/{facts['oli_id']}/check", json={"text": "checkcanary"}),
        await watcher.ask("owner", "POST", f"/v1/members/{facts['nia_id']}/message", json={"text": "noticecanary"}),
        await watcher.ask("pam", "POST", "/v1/me/help", json={"text": "helpcanary"}),
    ]
    assert [answer.status_code for answer in said] == [200, 200, 204]


async def the_others_are_shown(watcher: Watcher) -> None:
    assert (await watcher.ask("oli", "POST", "/v1/me/check")).status_code == 200
    await watcher.answer("oli", "shared", {"shared": "sharedcanary-oli"})
    for who in ("nia", "oli", "pam"):
        await watcher.comes_to(who, "vote")
        await watcher.answer(who, "vote", {"ranking": ["trams", "buses"]})
    for who in ("nia", "oli", "pam"):
        await watcher.comes_to(who, "outcome")
    for stage_id in ("outcome", "paid", "look", "stocks"):
        await watcher.goes_on("nia", stage_id)
    await watcher.answer("nia", "portfolio", {"share": 83})


async def everything_happens(watcher: Watcher) -> None:
    """The story; phases tell what happens between two crawls."""
    facts = watcher.evidence.facts
    study = await watcher.create("owner", STUDY)
    facts["study"] = study
    other = await watcher.create("mallory", OTHER_STUDY)
    shelved = {"profile": {"name": "Lia"}, "text": "librarycanary"}
    await watcher.ask("owner", "PUT", f"/v1/personas/{LIBRARY_PERSONA}", json=shelved)
    for who in PEOPLE:
        await watcher.join(who, study, "watched")
    await watcher.join("fay", study, "next-door")
    await watcher.join("zoe", other)
    for who in (*PEOPLE, "fay", "zoe"):
        watcher.follow(who)
    watcher.follow("owner", f"/v1/experiments/{study}/stream")
    watcher.follow("mallory", f"/v1/experiments/{other}/stream")
    await steps_are_taken(watcher)
    await first_answers_are_given(watcher)
    readers: dict[str, str | None] = {**watcher.tokens, "nobody": None, "liar": "made-up"}
    taking_part = {who: token for who, token in readers.items() if who not in STRANGERS or who == "fay"}
    of_the_study = {who: readers[who] for who in (*PEOPLE, "fay", "owner")}

    for who in ("ada", "bea", "dan", "eve", "fay"):
        await watcher.answer(who, "told", {"told": f"toldcanary-{who}"})
        await watcher.answer(who, "guided", {"guided": f"guidedcanary-{who}"})
    await watcher.agents_are_done()
    await watcher.crawl("while one still answers", taking_part)
    await the_others_are_shown(watcher)
    await watcher.answer("cid", "told", {"told": "toldcanary-cid"})
    await watcher.answer("cid", "guided", {"guided": "guidedcanary-cid"})
    for who in ("ada", "bea", "dan", "eve", "fay"):
        await watcher.answer(who, "before", {"why": f"answercanary-{who}"})
    early = await watcher.say("ada", "earlycanary")
    await watcher.agents_are_done()
    facts["whisper"] = await watcher.whisper("ada", "whispercanary", to="bea")
    await watcher.agents_are_done()
    await watcher.say("bea", "replycanary", reply_to=facts["whisper"])
    await watcher.ask("bea", "PUT", f"/v1/me/messages/{facts['whisper']}/reactions/heart")
    await watcher.say("dan", "quotingcanary", reply_to=early["id"])
    await watcher.ask("eve", "PUT", f"/v1/me/messages/{early['id']}/reactions/thumbs_up")
    await watcher.agents_are_done()
    await watcher.crawl("before they go", of_the_study)

    assert (await watcher.ask("dan", "POST", "/v1/me/leave")).status_code == 200
    removal = {"reason": "reasoncanary"}
    removed = await watcher.ask("owner", "POST", f"/v1/members/{facts['eve_id']}/remove", json=removal)
    assert removed.status_code == 200
    await asyncio.gather(watcher.streams["dan:live"], watcher.streams["eve:live"])
    await watcher.answer("bea", "talk", None)
    await watcher.say("ada", "latercanary")
    await watcher.agents_are_done()
    await watcher.crawl("after they went", of_the_study)

    await watcher.answer("cid", "before", {"why": "answercanary-cid"})
    await watcher.say("cid", "arrivedcanary")
    await watcher.agents_are_done()
    for who in ("ada", "fay", "zoe"):
        await watcher.say(who, f"lastcanary-{who}")
    await watcher.agents_are_done()
    for listener, speaker in (("ada", "ada"), ("bea", "ada"), ("cid", "ada"), ("fay", "fay"), ("zoe", "zoe")):
        await watcher.hears(listener, f"lastcanary-{speaker}")
    await watcher.hears("owner", "lastcanary-ada")
    await watcher.crawl("in the end", readers, every=True)
    facts["said"] = [
        row.text for row in await watcher.rows("SELECT text FROM messages WHERE author_kind = 'agent' ORDER BY seq")
    ]
    facts["lost"] = [row.said for row in await watcher.rows(_LOST)]
    facts["explanations"] = [row.why for row in await watcher.rows(_EXPLANATIONS)]
    facts["tokens"] = dict(watcher.tokens)


_SAID = "SELECT text FROM messages WHERE author_kind = 'agent' ORDER BY seq"
_LOST = "SELECT reply ->> 'text' AS said FROM drafts WHERE state = 'lost_claim' AND reply IS NOT NULL"
_EXPLANATIONS = "SELECT explanation AS why FROM messages WHERE explanation <> ''"


async def watch(servers: ServerSettings, folder: Path) -> Evidence:
    evidence = Evidence()
    with capture_logs() as entries:
        async with watched_lab(servers, folder, evidence) as watcher:
            await everything_happens(watcher)
    evidence.add("logs", "lab:logs", repr(entries).encode())
    return evidence
