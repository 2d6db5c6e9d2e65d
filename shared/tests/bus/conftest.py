"""Both buses behind one fixture, so that one suite of rules runs on each."""

from collections.abc import AsyncIterator

import pytest

from parley_lab.testing.buses import Broker, InProcessBroker, RabbitBroker

QUEUES = ("work", "other")


@pytest.fixture(params=["in_process", pytest.param("rabbitmq", marks=[pytest.mark.rabbitmq, pytest.mark.services])])
async def broker(request: pytest.FixtureRequest) -> AsyncIterator[Broker]:
    """Buries a hint that came back twice."""
    broker: Broker
    if request.param == "in_process":
        broker = InProcessBroker(delivery_limit=2)
    else:
        broker = RabbitBroker(request.getfixturevalue("amqp_url"), queues=QUEUES, delivery_limit=2)
    yield broker
    await broker.close()


@pytest.fixture
async def rabbit(amqp_url: str) -> AsyncIterator[RabbitBroker]:
    broker = RabbitBroker(amqp_url, queues=QUEUES, delivery_limit=2)
    yield broker
    await broker.close()
