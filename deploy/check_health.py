"""Succeeds when a service of this container is healthy: `check_health.py <port> [path]`.

Healthy is a 200 from 127.0.0.1. Without a proxy from the environment, and without a client from outside the standard
library: it runs every few seconds in every container.
"""

import http.client
import sys

TIMEOUT_SECONDS = 4


def check(port: int, path: str) -> str | None:
    """The fault, None without one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"{path} on port {port}: {error}"
    finally:
        connection.close()
    return None if response.status == 200 else f"{path} on port {port} answered {response.status}: {body}"


if __name__ == "__main__":
    sys.exit(check(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "/healthz"))
