"""The bus: hints between processes, at least once, in any order, acknowledged or gone.

RabbitMQ is in `shared.bus.rabbit`, the bus of one process in `shared.bus.in_process`, the outbox in
`shared.bus.publisher`; both buses keep the contract below.
"""

from shared.bus.contract import (
    DELIVERY_LIMIT,
    Bus,
    BusMisconfigured,
    BusUnavailable,
    Handler,
    Listener,
    NotNow,
    Pause,
    Subscription,
    back_off,
    dead_queue,
)

__all__ = [
    "DELIVERY_LIMIT",
    "Bus",
    "BusMisconfigured",
    "BusUnavailable",
    "Handler",
    "Listener",
    "NotNow",
    "Pause",
    "Subscription",
    "back_off",
    "dead_queue",
]
