"""The queues on the broker: two quorum queues and a dead-letter queue per kind of work."""

from aio_pika.abc import AbstractChannel

from parley_lab.bus.contract import dead_queue, urgent_lane

# Newer brokers limit every quorum queue to 20 returns and drop messages beyond it. A person who reads a dead-letter
# queue many times must not lose messages, and older brokers refuse "unlimited".
_DEAD_DELIVERY_LIMIT = 1_000_000


async def declare_work_queue(channel: AbstractChannel, name: str, *, delivery_limit: int) -> None:
    """Declare `name`, its urgent queue and their dead-letter queue; the arguments can never change for existing
    queues."""
    await channel.declare_queue(
        dead_queue(name),
        durable=True,
        arguments={"x-queue-type": "quorum", "x-delivery-limit": _DEAD_DELIVERY_LIMIT},
    )
    for lane in (name, urgent_lane(name)):
        await channel.declare_queue(
            lane,
            durable=True,
            arguments={
                "x-queue-type": "quorum",
                "x-delivery-limit": delivery_limit,
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": dead_queue(name),
            },
        )
