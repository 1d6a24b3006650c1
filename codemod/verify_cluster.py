"""Proves with real processes that `jax.distributed.initialize()` proceeds and asks no one."""

from __future__ import annotations

import re
import selectors
import socket
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemod.child_process import Child, Gone
from codemod.metadata_server import MetadataServer
from codemod.scenarios import ATTRIBUTES, Way
from codemod.verdict import Environment, Level, Row, Scenario, Server, Verdict, is_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

SCRIPT = Path(__file__).with_name("cluster_child.py")
GRACE = 2.0  # seconds that the others have to end in an error of their own after the first one
TICK = 0.2  # seconds between two looks at the servers
FIXED_PORT = 8476  # of jax 0.4.21
ON_TPU_HOST = {"JAX_FORCE_TPU_INIT": "1", "JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "true"}
ON_GOOGLE_CLOUD = {
    "agent-worker-number": "0",
    "tpu-env": "MEGASCALE_NUM_SLICES: '1'\nMEGASCALE_SLICE_ID: '0'\n"
    "MEGASCALE_COORDINATOR_ADDRESS: 'localhost'\n",
    "worker-network-endpoints": "unknown:unknown:127.0.0.1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One cluster: the environment of each process, in the order of their indices."""

    name: str
    scenario: Scenario
    members: tuple[Mapping[str, str], ...]
    attributes: Mapping[str, str] = field(default_factory=lambda: ATTRIBUTES)

    def expected(self, index: int) -> Way:
        """Return what the process must end with."""
        count = len(self.members)
        text = _outcome(index, count, [f"hello from {other}" for other in range(count)])
        asks = self.scenario.variable is None
        return Way(asks=asks, value=re.escape(text), text=text)


def verify_cluster(
    python: Path, root: Path | None, *, processes: int = 2, timeout: float = 180.0
) -> Verdict:
    """Return the verdict on the jax of the interpreter `python`, jaxlib included.

    `root` is a folder that holds the package `jax` to use instead of the installed one, if any.
    `timeout` is in seconds and holds for the whole run. Nothing is raised for a jax that cannot
    be run: such a verdict has `failed` set.
    """
    deadline = time.monotonic() + timeout
    python, root = python.absolute(), root and root.absolute()  # children run elsewhere
    rows: list[Row] = []
    about = str(python)
    for plan in (_one_slice(processes), _two_slices(processes), _control()):
        cluster = _Cluster(python, root, plan, deadline)
        rows.extend(cluster.run())
        about = cluster.about
        if any(row.broken for row in rows):
            break
    return Verdict(level=Level.CLUSTER, target=str(root or python), about=about, rows=tuple(rows))


def no_cluster(copy: Path) -> Verdict:
    """Return the verdict on a file that lies in no package `jax` which could be imported."""
    plan = _one_slice(1)
    why = "level cluster runs a whole jax, and this file lies in none: use --level module"
    row = replace(Row.blank(plan.scenario, "import jax", "a package"), broken=why)
    return Verdict(level=Level.CLUSTER, target=str(copy), about="a lone file", rows=(row,))


def _one_slice(processes: int) -> Plan:
    """The report: nothing but the workers in the environment, and a host that cannot be found."""
    hosts = ",".join(["localhost"] * processes)
    return Plan(
        name="one slice",
        scenario=Scenario(
            variable="true", environment=Environment.ABSENT, server=Server.NO_SUCH_HOST
        ),
        members=tuple(
            {"TPU_WORKER_HOSTNAMES": hosts, "TPU_WORKER_ID": str(index)}
            for index in range(processes)
        ),
    )


def _two_slices(processes: int) -> Plan:
    """The environment names two slices; the server, were it asked, would name four."""
    each = max(1, processes // 2)
    hosts = ",".join(["localhost"] * each)
    slices = {"MEGASCALE_NUM_SLICES": "2", "MEGASCALE_COORDINATOR_ADDRESS": "localhost"}
    return Plan(
        name="two slices",
        scenario=Scenario(variable="true", environment=Environment.VALUE, server=Server.UP),
        members=tuple(
            {
                "TPU_WORKER_HOSTNAMES": hosts,
                "TPU_WORKER_ID": str(index % each),
                "MEGASCALE_SLICE_ID": str(index // each),
                **slices,
            }
            for index in range(2 * each)
        ),
    )


def _control() -> Plan:
    """As on Google Cloud, the variable unset: were nothing seen here, nothing would be proved."""
    return Plan(
        name="control",
        scenario=Scenario(variable=None, environment=Environment.ABSENT, server=Server.UP),
        members=({"TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0"},),
        attributes=ON_GOOGLE_CLOUD,
    )


@dataclass(slots=True, kw_only=True)
class _Member:
    """A process, what it was last seen doing, and what it has reported."""

    child: Child
    server: MetadataServer
    step: str = "start"
    ready: bool = False
    result: dict[str, Any] | None = None
    gone: str | None = None

    @property
    def over(self) -> bool:
        return self.result is not None or self.gone is not None


class _Cluster:
    """The processes of one plan."""

    def __init__(self, python: Path, root: Path | None, plan: Plan, deadline: float) -> None:
        self.about = f"jax of {python}"
        self._python, self._root = python, root
        self._plan, self._deadline = plan, deadline
        self._members: list[_Member] = []
        self._fixed_port = False

    def run(self) -> list[Row]:
        """Run the processes side by side; return a row for each."""
        # The port is let go of last: a coordinator that still runs would answer another cluster.
        with ExitStack() as port, ExitStack() as stack:
            try:
                self._start(stack)
                if self._all_ready():
                    self._go(port)
                    self._all_over()
            except (Gone, OSError, RuntimeError) as gone:  # the latter for want of resources
                return [replace(self._blank(0), broken=str(gone))]
            return [self._row(index, member) for index, member in enumerate(self._members)]

    def _start(self, stack: ExitStack) -> None:
        port = str(_free_port())
        limit = str(max(1.0, self._deadline - time.monotonic()) + 5)
        for index, environment in enumerate(self._plan.members):
            server = stack.enter_context(MetadataServer(self._plan.attributes))
            server.start(self._plan.scenario.server)
            address = server.address()
            told = {} if address is None else {"GCE_METADATA_IP": address}
            variables = {**ON_TPU_HOST, **environment, **told, "JAX_COORDINATOR_PORT": port}
            child = stack.enter_context(Child(self._python, SCRIPT, [limit], variables))
            child.send(
                {
                    "root": str(self._root) if self._root else None,
                    "server": server.port,
                    "variable": self._plan.scenario.variable,
                    "place": {"count": len(self._plan.members), "index": index},
                }
            )
            self._members.append(_Member(child=child, server=server))

    def _all_ready(self) -> bool:
        """Let all import jax before the first goes on; return whether all can."""
        members = self._members
        self._until(
            lambda: all(member.ready for member in members) or any(m.over for m in members),
            self._deadline,
        )
        return all(member.ready and not member.over for member in members)

    def _go(self, port: ExitStack) -> None:
        if self._fixed_port:
            port.enter_context(_exclusive_port(self._deadline))
        for member in self._members:
            member.child.send({"go": True})

    def _all_over(self) -> None:
        """Wait for all to report; once the outcome is plain, they may wait for ever."""
        self._until(lambda: self._plainly_wrong() is not None, self._deadline)
        if self._plainly_wrong():
            self._until(lambda: False, min(self._deadline, time.monotonic() + GRACE))

    def _plainly_wrong(self) -> str | None:
        """Return what cannot be made good any more, None while there is hope."""
        rows = [
            self._row(index, member) for index, member in enumerate(self._members) if member.over
        ]
        if not all(row.ok for row in rows):
            return "another had failed"
        asked = any(member.server.requests() for member in self._members)
        return "the server was asked" if asked and is_set(self._plan.scenario) else None

    def _until(self, reached: Callable[[], bool], deadline: float) -> None:
        """Take in messages until then, until all processes are over, or until time is up."""
        while not reached() and time.monotonic() < deadline:
            waiting = [member for member in self._members if not member.over]
            if not waiting:
                return
            for member in _readable(waiting, min(deadline, time.monotonic() + TICK)):
                self._take(member)

    def _take(self, member: _Member) -> None:
        try:
            message = member.child.receive(self._deadline)
        except Gone as gone:
            member.gone = f"{gone}, at: {member.step}"
            return
        member.result = message.get("result")
        member.step = message.get("step", member.step)
        if "jax" in message:
            member.ready = True
            self.about = f"jax {message['jax']}"
            self._fixed_port |= message["fixed"]

    def _row(self, index: int, member: _Member) -> Row:
        if member.result is not None:
            member.server.wait_for(member.result["connections"], 1.0)
        server = member.server
        row = replace(self._blank(index), requests=server.requests(), asked=server.asked())
        if member.result is not None:
            return self._judged(index, row, member.result)
        hopeless = None if member.gone else self._plainly_wrong()
        if hopeless:
            return replace(row, exception=f"ended by us, as {hopeless}, at: {member.step}")
        return replace(row, broken=member.gone or f"no answer in time, at: {member.step}")

    def _judged(self, index: int, row: Row, result: dict[str, Any]) -> Row:
        exception, broken = result.get("exception"), None
        if not result["imported"]:
            broken = f"jax cannot be imported: {exception}"
        elif exception and exception.startswith("ModuleNotFoundError"):
            broken = f"a package is missing: {exception}"
        value = None if exception else _outcome(result["index"], result["count"], result["heard"])
        traffic = row.requests + len(result["events"])
        return replace(
            row,
            other_connections=tuple(result["events"]),
            value=value,
            exception=exception,
            seconds=round(result["seconds"], 3),
            ok=broken is None and self._plan.expected(index).holds(traffic, value, exception),
            broken=broken,
        )

    def _blank(self, index: int) -> Row:
        """The row of a process of which nothing is known yet."""
        call = f"initialize(), {self._plan.name}, process {index}"
        return Row.blank(self._plan.scenario, call, str(self._plan.expected(index)))


def _outcome(index: int, count: int, heard: Iterable[str]) -> str:
    return f"process {index} of {count}, heard {', '.join(heard)}"


def _readable(members: Sequence[_Member], deadline: float) -> list[_Member]:
    """Return those that have a message or are gone; none when time is up."""
    if buffered := [member for member in members if member.child.has_message]:
        return buffered
    with selectors.DefaultSelector() as ready:
        for member in members:
            ready.register(member.child, selectors.EVENT_READ, member)
        found = ready.select(max(0.0, deadline - time.monotonic()))
        return [key.data for key, _ in found]


def _free_port() -> int:
    """Return a port that nothing uses now; the kernel gives it to no one else for a while."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _exclusive_port(deadline: float) -> Iterator[None]:
    """Wait until no other run on this machine uses the port that jax 0.4.21 cannot change.

    Two coordinators on one port would not fail but mix: gRPC shares it between them. The lock is
    one of the file, so that the kernel lets go of it however this process ends. Raises `Gone`.
    """
    import fcntl
    import os
    import tempfile

    path = Path(tempfile.gettempdir()) / f"codemod-port-{FIXED_PORT}.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except PermissionError:  # another user's: Linux does not let us create what is there already
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Gone(f"another run holds port {FIXED_PORT}") from None
                time.sleep(0.1)
        yield
    finally:
        os.close(descriptor)
