"""Fixtures and rules that hold for every test of every member."""

import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings

OWN_PLUGINS = ("no_skips", "left_out", "costs", "slow_first", "compiled")
pytest_plugins = ["pytester", *map("parley_lab.testing.{}".format, OWN_PLUGINS)]
if importlib.util.find_spec("parley_lab.testing.plugin"):
    pytest_plugins.append("parley_lab.testing.plugin")

# How long an example takes says how busy the machine is, not whether a rule holds.
# More examples find more; `make faults` has the time.
for profile, examples in (("quick", 30), ("long", 200)):
    settings.register_profile(
        profile, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("PARLEY_TEST_PROFILE", "quick"))

SERVICE_MARKERS = ("postgres", "rabbitmq")

# Where the driver of the browser is not installed, as beside CrewAI.
collect_ignore = [] if importlib.util.find_spec("playwright") else ["tests/pages"]


# First, so that `-m "not services"` sees the marker.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs PostgreSQL or RabbitMQ with `services`, by which `make unit` leaves it out."""
    for item in items:
        if any(item.get_closest_marker(name) for name in SERVICE_MARKERS):
            item.add_marker("services")
