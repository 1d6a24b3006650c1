"""One process of a cluster: calls `jax.distributed.initialize()` and compares notes with the rest.

Standard library only, CPython 3.9 to 3.14: this file is given to an interpreter that knows
nothing of codemod. It tells the parent each step before it takes it, so that a process that
never comes back has said what it was doing.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codemod import child_kit as kit
else:
    import child_kit as kit

del sys.path[0]  # the folder of this script: nothing in it may shadow a module of the target

PATIENCE = 60_000  # milliseconds for a value of another process; the parent ends us sooner


class Member:
    """The process, from `import jax` to the last value of the others."""

    def __init__(self, channel: kit.Channel, order: dict[str, Any]) -> None:
        self._channel = channel
        self._order = order
        self._watch = kit.Watch(stop_processes=False)
        self._watch.server = order["server"]

    def run(self) -> dict[str, Any]:
        """Do all steps and return what came of them, and what left the process meanwhile."""
        began = time.perf_counter()
        done: dict[str, Any] = {"imported": False}
        try:
            self._import(done)
            done.update(self._initialize())
        except BaseException as error:  # noqa: BLE001 (what jax raises is the result)
            done["exception"] = kit.describe(error)
        return {**done, **self._watch.take(), "seconds": time.perf_counter() - began}

    def _import(self, done: dict[str, Any]) -> None:
        root = self._order["root"]
        if root:
            sys.path.insert(0, root)
        self._step("import jax")
        jax: Any = importlib.import_module("jax")
        if root and Path(root) not in Path(jax.__file__).parents:
            raise ImportError(f"{jax.__file__} was imported, and not that of {root}")
        done["imported"] = True
        self._step("wait for the others to import jax", jax=jax.__version__, fixed=self._port())
        if self._channel.receive() is None:
            raise SystemExit(0)
        # Now and not before: since 0.6.2 jax itself sets it while it is imported, where it counts
        # no chips, so that the variable of the user would not be what is tested.
        variable = self._order["variable"]
        if variable is not None and kit.VARIABLE not in os.environ:
            raise LookupError(f"{kit.VARIABLE} was removed while jax was imported")
        kit.set_environment({kit.VARIABLE: variable})

    def _port(self) -> bool:
        """Move the coordinator off its fixed port; return whether this release nails it down.

        Since 0.8.1 jax reads JAX_COORDINATOR_PORT, which the parent has set. From 0.4.22 on the
        port is a variable of the module. In 0.4.21 it is part of a literal.
        """
        module: Any = importlib.import_module("jax._src.clusters.cloud_tpu_cluster")
        if not hasattr(module, "coordinator_port"):
            return True
        module.coordinator_port = os.environ["JAX_COORDINATOR_PORT"]
        return False

    def _initialize(self) -> dict[str, Any]:
        jax: Any = importlib.import_module("jax")
        self._step("jax.distributed.initialize()")
        self._watch.processes = True  # only here: to find its devices jax may well start some
        jax.distributed.initialize()
        self._watch.processes = False
        self._step("jax.process_count()")
        place = {"count": jax.process_count(), "index": jax.process_index()}
        if place != self._order["place"]:  # someone would wait for a value that no one sends
            return {**place, "heard": []}
        self._step("exchange values through jax's key-value store")
        client = importlib.import_module("jax._src.distributed").global_state.client
        client.key_value_set(f"codemod/{place['index']}", f"hello from {place['index']}")
        heard = [
            client.blocking_key_value_get(f"codemod/{other}", PATIENCE)
            for other in range(place["count"])
        ]
        return {**place, "heard": heard}

    def _step(self, name: str, **more: Any) -> None:
        self._channel.reply({"step": name, **more})


def main() -> None:
    """Do as the first command says; the parent ends this process when all have reported."""
    limit, commands, replies = sys.argv[1:]
    faulthandler.enable()
    # Should the parent be killed, nothing else ends a process that hangs.
    faulthandler.dump_traceback_later(float(limit), exit=True)
    channel = kit.Channel(int(commands), int(replies))
    kit.requests_or_stand_in()
    order = channel.receive()
    if order is not None:
        channel.reply({"result": Member(channel, order).run()})
        # The coordinator must outlive the values that the others still read.
        channel.receive()
    os._exit(0)


if __name__ == "__main__":
    main()
