"""Runs one copy of `cloud_tpu_cluster.py`, call by call, inside the interpreter that will use it.

Standard library only, CPython 3.9 to 3.14: this file is given to an interpreter that knows
nothing of codemod. It judges nothing. The parent sends one command a line, owns the metadata
server, counts its requests and decides.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from codemod import child_kit as kit
else:
    import child_kit as kit

del sys.path[0]  # the folder of this script: nothing in it may shadow a module of the target

CLUSTERS = "jax._src.clusters"


def package(name: str, folders: list[Path]) -> Any:
    """Return the package `name`, made of these folders; the code of its `__init__` is not run."""
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder) for folder in folders]
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    return module


def cluster_base(clusters: Any, lone: bool) -> None:  # noqa: FBT001
    """Give the package its `ClusterEnv`: the real one beside the copy, or a bare class."""
    if not lone:
        clusters.ClusterEnv = importlib.import_module(CLUSTERS + ".cluster").ClusterEnv
        return
    clusters.ClusterEnv = type("ClusterEnv", (), {"_cluster_types": []})
    clusters.cluster = package(CLUSTERS + ".cluster", [])
    clusters.cluster.ClusterEnv = clusters.ClusterEnv


def tpu_vm(lone: bool) -> str:  # noqa: FBT001
    """Let the copy believe that it runs on a TPU host; return why a stub is used, empty if none."""
    why = "no sibling modules" if lone else ""
    name = "jax._src.cloud_tpu_init"
    try:
        module: Any = package(name, []) if lone else importlib.import_module(name)
    except (ImportError, AttributeError, RuntimeError, TypeError, SyntaxError) as error:
        # jaxlib is missing, or is that of another release; the copy takes one flag from there
        why, module = kit.describe(error), package(name, [])
    module.running_in_cloud_tpu_vm = True
    return why


def load(files: list[str]) -> tuple[list[ModuleType], str]:
    """Import the files afresh among their real siblings; return them and why a stub was needed.

    The usual loader is used, with its `.pyc`: a stale one that wins over the edited source is
    what the user's program would run, and so it is what must be judged.
    """
    folder = Path(files[0]).parent
    lone = not (folder / "cluster.py").is_file()
    for name in [name for name in sys.modules if (name + ".").startswith(CLUSTERS + ".")]:
        del sys.modules[name]
    if "jax" not in sys.modules:
        package("jax", [] if lone else [folder.parents[1]])
        package("jax._src", [] if lone else [folder.parent])
    why = tpu_vm(lone)
    cluster_base(package(CLUSTERS, [] if lone else [folder]), lone)
    first = execute(files[0])
    others = [importlib.import_module(f"{CLUSTERS}.{Path(file).stem}") for file in files[1:]]
    return [first, *others], why


def execute(copy: str) -> ModuleType:
    """Run the file as `jax._src.clusters.cloud_tpu_cluster`."""
    name = CLUSTERS + ".cloud_tpu_cluster"
    loader = importlib.machinery.SourceFileLoader(name, copy)
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None:
        raise ImportError(copy)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.modules[CLUSTERS].cloud_tpu_cluster = module  # type: ignore[attr-defined]
    loader.exec_module(module)
    return module


def own_classes(modules: list[ModuleType]) -> dict[str, type]:
    """Return the classes that the files themselves define."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def cluster_classes(modules: list[ModuleType]) -> dict[str, type]:
    """Return those of them that can be asked for presence."""
    found = own_classes(modules)
    return {name: value for name, value in found.items() if hasattr(value, "is_env_present")}


def env_value_function(modules: list[ModuleType]) -> Callable[..., Any] | None:
    """Return `get_tpu_env_value`, which forks also keep as a private name or a static method."""
    for owner in [*modules, *own_classes(modules).values()]:
        for name in ("get_tpu_env_value", "_get_tpu_env_value"):
            if callable(getattr(owner, name, None)):
                return getattr(owner, name)  # type: ignore[no-any-return]
    return None


def forget(modules: list[ModuleType]) -> None:
    """Empty the caches of `functools`: what they hold is the answer of another scenario."""
    for owner in [*modules, *own_classes(modules).values()]:
        for value in vars(owner).values():
            clear = getattr(getattr(value, "__func__", value), "cache_clear", None)
            if callable(clear):
                clear()


def with_known_arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of `get_coordinator_address` that this release has."""
    offered = {"timeout_secs": 5, "override_coordinator_port": None}
    names = inspect.signature(function).parameters
    return {name: value for name, value in offered.items() if name in names}


class Probe:
    """The commands: load the copy, and call one thing of it."""

    def __init__(self, files: list[str]) -> None:
        self._files = files
        self._watch = kit.Watch(stop_processes=True)
        self._clock, self._limit = kit.Clock(), kit.SocketLimit()
        self._modules: list[ModuleType] = []

    def load(self) -> dict[str, Any]:
        """Load the copy under the present environment."""
        self._modules, stub = load(self._files)
        return {
            "classes": sorted(cluster_classes(self._modules)),
            "env_value": env_value_function(self._modules) is not None,
            "stub": stub,
        }

    def call(self, owner: str, name: str, arguments: list[str]) -> dict[str, Any]:
        """Call the env-value function, or the method `name` of the class `owner`."""
        forget(self._modules)
        if not owner:
            function = env_value_function(self._modules)
        else:
            function = getattr(cluster_classes(self._modules)[owner], name)
        if function is None:
            raise LookupError(name)
        known = with_known_arguments(function) if owner else {}
        return {"value": repr(function(*arguments, **known))[: kit.LONGEST]}

    def run(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do one command and say all that happened meanwhile."""
        kit.set_environment(command["environment"])
        self._watch.server = command["server"]
        self._limit.set(command["socket_timeout"])
        self._clock.restart()
        threads, began = set(threading.enumerate()), time.perf_counter()
        try:
            done = self.load() if command["op"] == "load" else self.call(*command["call"])
        except BaseException as error:  # noqa: BLE001 (what the copy raises is the result)
            missing = error.name or "" if isinstance(error, ModuleNotFoundError) else None
            done = {"exception": kit.describe(error), "missing": missing}
        for thread in set(threading.enumerate()) - threads:
            thread.join(1.0)  # a query may hide in a thread that outlives the call
        seconds = time.perf_counter() - began
        variable = os.environ.get(kit.VARIABLE)  # set anew for each call: a change would be lost
        return {**done, **self._watch.take(), "variable": variable, "seconds": seconds}


def main() -> None:
    """Answer commands until there are none."""
    files, limit, commands, replies = sys.argv[1:]
    faulthandler.enable()
    # Should the parent be killed, nothing else ends a copy that hangs.
    faulthandler.dump_traceback_later(float(limit), exit=True)
    channel = kit.Channel(int(commands), int(replies))
    channel.reply({"requests": kit.requests_or_stand_in(), "python": sys.version.split()[0]})
    probe = Probe(json.loads(files))
    while True:
        command = channel.receive()
        if command is None:
            break
        channel.reply(probe.run(command))
    channel.reply({"end": True})


if __name__ == "__main__":
    main()
