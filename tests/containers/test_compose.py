"""The distributed lab in containers: it starts by itself, runs experiments, and survives failures of machines."""

import csv
import io
import time
from collections import Counter, defaultdict
from collections.abc import Iterator

import httpx2
import pytest
import yaml

from parley_lab.formats.exports import without_ids_and_clocks
from tests.containers.compose import ROOT, WORKER, ComposeLab, built_lab, compose_command, engine_answers, until
from tests.operators.test_alerts import scraping

# Building an image and starting Erlang take their time.
pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(900)]

COHORTS = 20
AGENTS = 3
MOST = 4
"""messages of one agent"""

FAST = f"""
parley: 1
name: Containers
seed: 5
pace: fast
personas:
  - {{id: ada, profile: {{name: Ada}}, text: A retired judge., chat: {{words_per_minute: 400, max_responses: {MOST}}}}}
  - {{id: bob, profile: {{name: Bob}}, text: A baker., chat: {{words_per_minute: 300, max_responses: {MOST}}}}}
  - {{id: cid, profile: {{name: Cid}}, text: A student., chat: {{words_per_minute: 500, max_responses: {MOST}}}}}
stages:
  - {{id: before, kind: survey, questions: [{{id: view, kind: scale, title: Your view, lower: 1, upper: 7}}]}}
  - {{id: talk, kind: group_chat, time_limit_seconds: 60}}
  - {{id: after, kind: survey, questions: [{{id: why, kind: text, title: Why}}]}}
cohorts:
  - {{count: {COHORTS}, seats: [{{persona: ada}}, {{persona: bob}}, {{persona: cid}}]}}
"""
AT_ONCE = "pages: {reading_words_per_minute: 0, writing_words_per_minute: 0}"
LIVE = FAST.replace("pace: fast", "pace: live").replace("chat: {", f"{AT_ONCE}, chat: {{")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeLab]:
    command = compose_command()
    if command is None or not engine_answers():
        pytest.skip("no Docker engine with docker compose answers")
    with built_lab(command, tmp_path_factory.mktemp("lab")) as lab:
        lab.up(workers=3)
        yield lab


def table(data: dict[str, bytes], name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data[name].decode(), newline="")))


def test_only_the_proxy_is_published_and_only_on_this_machine(lab: ComposeLab) -> None:
    published = lab.published()

    assert published == {"proxy": {"127.0.0.1"}}


def test_no_service_runs_as_root(lab: ComposeLab) -> None:
    for service in ("gateway", "orchestrator", WORKER, "prompt-builder"):
        assert lab.compose("exec", "-T", service, "id", "-u").strip() == "10001", service


def test_another_container_reads_the_numbers_of_each_service(lab: ComposeLab) -> None:
    read = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"
    (job,) = yaml.safe_load(scraping()[0])["scrape_configs"]
    for names, port in ((one["names"], one["port"]) for one in job["dns_sd_configs"]):
        for name in names:
            told = lab.compose("exec", "-T", "gateway", "python", "-c", read, f"http://{name}:{port}/metrics")
            assert "parley_statement_seconds" in told, name


def test_the_services_are_no_superusers_and_their_passwords_are_nowhere_to_be_seen(lab: ComposeLab) -> None:
    ask = 'export PGPASSWORD="$(cat /run/secrets/postgres_password)"; psql -U postgres -Atc "$0"'
    roles = "SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper"
    owner = "SELECT r.rolname FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba WHERE d.datname = 'parley'"

    assert lab.compose("exec", "-T", "postgres", "bash", "-c", ask, roles).strip() == "postgres"
    assert lab.compose("exec", "-T", "postgres", "bash", "-c", ask, owner).strip() == "parley"
    assert not [secret for secret in lab.secrets() if secret in lab.inspected()]


def test_operators_have_the_command_beside_the_lab(lab: ComposeLab) -> None:
    told = lab.compose("run", "--rm", "-T", "tools", "doctor")
    key = lab.compose("run", "--rm", "-T", "tools", "keys", "create", "ana", "--scope", "read").strip()

    assert told == "All is well.\n"
    assert httpx2.get(f"{lab.url}/v1/experiments", headers={"authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.fault
def test_posts_are_answered_while_one_gateway_after_the_other_is_replaced(lab: ComposeLab) -> None:
    with lab.asked_all_the_time() as answers:
        for gateway in ("gateway", "gateway-2"):
            lab.replace(gateway)

    assert len(answers) > 20
    assert set(answers) == {200}


@pytest.mark.fault
def test_requests_are_answered_while_the_broker_hangs(lab: ComposeLab) -> None:
    with lab.asked_all_the_time() as answers, lab.held("rabbitmq"):
        began = time.monotonic()
        # A few checks of the proxy long, after which it would have given up a gateway.
        until(lambda: time.monotonic() > began + 10, seconds=60, otherwise=lab.told)

    assert answers
    assert set(answers) == {200}


@pytest.mark.fault
def test_the_health_of_the_broker_sees_its_alarms(lab: ComposeLab) -> None:
    check = ("exec", "-T", "rabbitmq", "bash", "/opt/check_rabbitmq.sh")

    lab.limit_free_disk("100000000000000")
    with_alarm = lab.exit_code(*check)
    lab.limit_free_disk("50000000")
    until(lambda: lab.exit_code(*check) == 0, seconds=30, otherwise=lab.told)

    assert with_alarm == 1


def test_nothing_is_answered_without_the_key(lab: ComposeLab) -> None:
    assert httpx2.get(f"{lab.url}/v1/experiments").status_code == 401


def test_the_experiments_of_a_workbook_run_to_their_end(lab: ComposeLab) -> None:
    experiment_ids = lab.start_workbook(ROOT / "demos" / "public_goods.xlsx")

    for experiment_id in experiment_ids:
        lab.wait_for_end(experiment_id, seconds=120)
    assert len(experiment_ids) == 2


@pytest.mark.fault
def test_the_data_do_not_show_that_a_worker_was_killed_and_that_servers_restarted(lab: ComposeLab) -> None:
    experiment_file, rough = disturbed_at_work(lab)
    lab.wait_for_end(rough, seconds=300)
    lab.up(workers=3)
    quiet = lab.start(experiment_file)
    lab.wait_for_end(quiet, seconds=300)

    expected, found = lab.export(quiet), lab.export(rough)
    for name in ("participants.csv", "answers.csv", "messages.csv"):
        assert without_ids_and_clocks(name, found[name]) == without_ids_and_clocks(name, expected[name]), name


@pytest.mark.fault
def test_a_live_conversation_survives_a_killed_worker_and_servers_that_restart(lab: ComposeLab) -> None:
    lab.up(workers=3)
    experiment_id = lab.start(LIVE)
    lab.wait_for_messages(experiment_id, COHORTS)

    disturb(lab)
    lab.wait_for_end(experiment_id, seconds=240)

    data = lab.export(experiment_id)
    assert Counter(row["status"] for row in table(data, "participants.csv")) == {"completed": COHORTS * AGENTS}
    answers = Counter((row["path"], row["stage"], row["field"]) for row in table(data, "answers.csv"))
    assert set(answers.values()) == {1}
    assert Counter(stage for _, stage, _ in answers) == {"before": COHORTS * AGENTS, "after": COHORTS * AGENTS}
    assert_one_reply_to_each_trigger(table(data, "messages.csv"))
    calls = Counter((row["path"], row["attempt"]) for row in table(data, "model_calls.csv"))
    assert set(calls.values()) == {1}


def assert_one_reply_to_each_trigger(messages: list[dict[str, str]]) -> None:
    """Checks also that no thread has a gap, and no agent exceeds its number of messages."""
    threads = defaultdict(list)
    for row in messages:
        threads[row["thread_id"]].append(row)
    assert len(threads) == COHORTS
    for rows in threads.values():
        assert [int(row["seq"]) for row in rows] == list(range(1, len(rows) + 1))
        triggers = [row["trigger_id"] for row in rows if row["trigger_id"]]
        assert len(triggers) == len(set(triggers))
        said = Counter(row["author_id"] for row in rows if row["author_id"])
        assert max(said.values()) <= MOST


def disturbed_at_work(lab: ComposeLab) -> tuple[str, str]:
    """An experiment that was still at work after the last blow, as its file and its id.

    It is small at first, for machines that are slow, and grows until it takes longer than the blows.
    """
    for cohorts in (COHORTS, 4 * COHORTS, 16 * COHORTS, 64 * COHORTS):
        lab.up(workers=3)
        experiment_file = FAST.replace(f"count: {COHORTS}", f"count: {cohorts}")
        experiment_id = lab.start(experiment_file)
        lab.wait_for_messages(experiment_id, 1)
        disturb(lab)
        if lab.progress(experiment_id)["status"] == "running":
            return experiment_file, experiment_id
    raise AssertionError(f"{cohorts} cohorts had ended before the servers were back")


def disturb(lab: ComposeLab) -> None:
    """Kill a worker that is at work and leave it dead; restart the database and then the broker under load."""
    lab.kill(WORKER)
    lab.restart("postgres")
    lab.restart("rabbitmq")
