# SPDX-License-Identifier: MIT
"""A client that asks again when it was late: HEAD_NS of reception.c is how long the exporter waits for a request, from the connection on,
and a busy machine may hold a client up for longer between the two."""
import http.client
import time

HEAD_S = 5
PATIENCE_S = 600


def fetch(port, path, method="GET", wait=lambda client: None):
    """Connects, waits, and asks. Returns status and body of the answer."""
    while True:
        begun, sent = time.monotonic(), None
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.connect()
            wait(connection.sock)
            connection.request(method, path, headers={"Connection": "close"})
            sent = time.monotonic()
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            if (sent or time.monotonic()) < begun + HEAD_S - 1:
                raise
        finally:
            connection.close()
