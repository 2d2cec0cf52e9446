"""A process that must not outlive the one that started it, however that one ends."""

from __future__ import annotations

import os
import threading
import time

LOOK_EVERY_S = 0.5


def end_with_parent(parent_pid: int) -> None:
    """Have this process end within a second after its parent `parent_pid` has ended: killed or not."""

    def watch() -> None:
        while os.getppid() == parent_pid:
            time.sleep(LOOK_EVERY_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="lifeline").start()
