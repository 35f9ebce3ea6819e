"""Ports for servers that tests start."""

import random
import socket

# Below what Linux hands to clients (net.ipv4.ip_local_port_range begins at 32768): no connection of
# another test takes the port between its choice and its server's start.
BELOW_CLIENTS = range(20_000, 32_768)


def free_ports(count: int) -> list[int]:
    """``count`` different ports of the loopback interface on which nobody listens."""
    ports: list[int] = []
    for port in random.SystemRandom().sample(BELOW_CLIENTS, len(BELOW_CLIENTS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise RuntimeError(f"fewer than {count} ports are free in {BELOW_CLIENTS}")
