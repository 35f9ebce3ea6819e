"""Join a group as a consumer of a topic, say so, and wait: to be killed, so that it never leaves.

Arguments: bootstrap server, topic, group.
"""

import sys
import time

from kafka import KafkaConsumer

if __name__ == "__main__":
    bootstrap, topic, group = sys.argv[1:]
    consumer = KafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest"
    )
    while not consumer.poll(timeout_ms=500):
        pass
    sys.stdout.write("joined\n")
    sys.stdout.flush()
    time.sleep(600)
