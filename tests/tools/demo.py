"""Shows the bug on a real jax, fixes it, and shows two real processes initialize."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".cache" / "demo"
TOOL, JAX = FOLDER / "tool", FOLDER / "jax"
TIMEOUT = 240  # seconds for one process
ON_TPU_HOST = {"JAX_PLATFORMS": "cpu", "JAX_FORCE_TPU_INIT": "1", "TPU_SKIP_MDS_QUERY": "true"}
PROGRAM = """
import jax
jax.distributed.initialize()
print(f"jax {jax.__version__}: process {jax.process_index()} of {jax.process_count()}")
jax.distributed.shutdown()
"""


class Counter(BaseHTTPRequestHandler):
    """A metadata server that knows nothing and counts what it is asked."""

    asked = 0

    def do_GET(self) -> None:
        Counter.asked += 1
        self.send_error(404)

    def log_message(self, *args: object) -> None:
        """Say nothing: the count is shown."""


@contextmanager
def counting() -> Iterator[dict[str, str]]:
    """Give the environment that sends metadata requests to a fresh counter."""
    Counter.asked = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {"GCE_METADATA_IP": f"127.0.0.1:{server.server_port}"}
    finally:
        server.shutdown()
        server.server_close()


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def fail(text: str) -> NoReturn:
    sys.exit(f"demo: FAILED: {text}")


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, timeout=1800)


def install_jax() -> None:
    """Install the newest jax that this Python can have; one that was patched before is undone."""
    python = JAX / "bin" / "python"
    if shutil.which("uv"):
        if not python.exists():
            run("uv", "venv", "-q", "--python", sys.executable, JAX)
        install: tuple[str | Path, ...] = ("uv", "pip", "install", "-q", "--python", python)
        run(*install, "--upgrade", "--reinstall-package", "jax", "jax", "requests")
        return
    if not python.exists():
        run(sys.executable, "-m", "venv", JAX)
    install = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*install, "--upgrade", "jax", "requests")
    run(*install, "--force-reinstall", "--no-deps", "jax")


def initialize(processes: int, extra: dict[str, str]) -> list[tuple[int, list[str]]]:
    """Run that many real processes at once: the exit code and the lines printed by each."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    hosts = ",".join(["localhost"] * processes)
    shared = {**keep, **ON_TPU_HOST, "TPU_WORKER_HOSTNAMES": hosts, **free_port(), **extra}
    with ExitStack() as stack:
        running = []
        for index in range(processes):
            output = stack.enter_context(TemporaryFile("w+"))
            child = subprocess.Popen(
                [JAX / "bin" / "python", "-c", PROGRAM],
                env={**shared, "TPU_WORKER_ID": str(index)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            stack.callback(child.wait)
            stack.callback(child.kill)
            running.append((child, output))
        return [(child.wait(TIMEOUT), lines(output)) for child, output in running]


def free_port() -> dict[str, str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return {"JAX_COORDINATOR_PORT": str(probe.getsockname()[1])}


def lines(output: IO[str]) -> list[str]:
    output.seek(0)
    return [line.strip() for line in output if line.strip()] or ["(printed nothing)"]


def show_bug() -> None:
    say("\n1. TPU_SKIP_MDS_QUERY=true, no metadata server: jax.distributed.initialize()")
    code, printed = initialize(1, {})[0]
    say(f"   exit {code}: {printed[-1]}")
    if code == 0 or "metadata.google.internal" not in " ".join(printed):
        fail("the bug does not show, so nothing that follows would prove anything")
    say("2. the same with a server on loopback that counts what it is asked")
    with counting() as environment:
        code, printed = initialize(1, environment)[0]
    say(f"   exit {code}: {Counter.asked} metadata requests")
    if not Counter.asked:
        fail("the counter sees nothing, so nothing that follows would prove anything")


def verify(expected: int, *options: str) -> None:
    """Run `codemod verify`, which sees for itself what was seen here by other means."""
    command: list[str | Path] = [TOOL / "bin" / "codemod", "verify", "--level", "cluster"]
    code = subprocess.run([*command, *options, JAX], check=False, timeout=TIMEOUT).returncode
    if code != expected:
        fail(f"codemod verify exits with {code} and not with {expected}")


def show_fix() -> None:
    say("3. codemod verify --level cluster, before")
    verify(1)
    say(f"4. codemod apply {JAX}")
    run(TOOL / "bin" / "codemod", "apply", JAX)
    say("5. TPU_SKIP_MDS_QUERY=true, two processes, the counting server is there to be asked")
    with counting() as environment:
        ended = initialize(2, environment)
    for index, (code, printed) in enumerate(ended):
        say(f"   exit {code}: {printed[-1]}")
        if code or not printed[-1].endswith(f"process {index} of 2"):
            fail("\n".join(["a process did not initialize", *printed]))
    say(f"   {Counter.asked} metadata requests")
    if Counter.asked:
        fail("the metadata server was asked")
    say("6. codemod verify --level cluster, after")
    verify(0, "-q")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second demo waits
        say("Installing the tool, and the newest jax that this Python can have, as they are")
        os.environ["PYTHON"] = sys.executable
        run("sh", HERE / "setup.sh", TOOL, "runtime")
        install_jax()
        show_bug()
        show_fix()
    say("\nThe bug was there, and is gone.")


if __name__ == "__main__":
    main()
