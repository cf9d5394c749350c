# SPDX-License-Identifier: MIT
"""An exporter that has replayed the sample and serves with a flight recorder, for full_disk.py and written_files.py."""
import re
import subprocess
import threading
import time

import late_client
from late_client import PATIENCE_S


class RecorderServer:
    """Starts the exporter in `folder` with the flight recorder's folder `rec` there, and waits until the replay has finished. options:
    further keys of `recorder:`. log has the lines of standard error."""

    def __init__(self, exporter, recording, folder, options="", preexec_fn=None):
        (folder / "config.yaml").write_text(f"recorder: {{ dir: rec, memory: 4MiB, interval: 1s{options} }}\n")
        self.log = []
        self.process = subprocess.Popen([exporter, f"--replay.file={recording}", f"--config.file={folder}/config.yaml",
                                         "--web.enable-lifecycle", "--web.listen-address=127.0.0.1:0"],
                                        stderr=subprocess.PIPE, preexec_fn=preexec_fn, text=True)
        self.reader = threading.Thread(target=lambda: self.log.extend(iter(self.process.stderr.readline, "")))
        self.reader.start()
        end = time.monotonic() + PATIENCE_S
        while "Replay finished" not in "".join(self.log) and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        self.port = int(re.search(r"Listening.* port=(\d+)", "".join(self.log)).group(1))

    def ask(self, method, path):
        """Returns the status and the body of the answer."""
        status, answer = late_client.fetch(self.port, path, method)
        return status, answer.decode()

    def stop(self):
        """Terminates the exporter and returns its exit status. The log is complete then."""
        self.process.terminate()
        status = self.process.wait(PATIENCE_S)
        self.reader.join()
        return status
