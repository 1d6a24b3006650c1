"""Every call that a proof at module level makes, and what each must do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from codemod.verdict import Environment, Scenario, Server, is_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VARIABLE = "TPU_SKIP_MDS_QUERY"
VALUES: tuple[str | None, ...] = ("true", "1", "", "false", "0", None)
KEYS = ("MEGASCALE_NUM_SLICES", "MEGASCALE_SLICE_ID", "MEGASCALE_COORDINATOR_ADDRESS")

# The three sources of a value differ in every value, so that the answer names its source.
IN_ENVIRONMENT = dict(zip(KEYS, ("3", "2", "127.0.0.9:8080"), strict=True))
ON_SERVER = dict(zip(KEYS, ("4", "3", "127.0.0.7:8080"), strict=True))
OTHER_KEY, OTHER_VALUE = "ACCELERATOR_TYPE", "v5litepod-8"
WORKERS = {"TPU_WORKER_HOSTNAMES": "127.0.0.1,127.0.0.2", "TPU_WORKER_ID": "1"}
ATTRIBUTES = {
    "agent-worker-number": "0",
    "tpu-env": "".join(
        f"{key}: '{value}'\n" for key, value in {**ON_SERVER, OTHER_KEY: OTHER_VALUE}.items()
    ),
    "worker-network-endpoints": "unknown:unknown:127.0.0.5,unknown:unknown:127.0.0.6",
}

# Worker 1 of 2, in slice 0 of 1, slice 2 of 3 and slice 3 of 4.
GKE = "GkeTpuCluster"
GKE_METHODS = {
    "get_process_id": ("1", "5", "7"),
    "get_process_count": ("2", "6", "8"),
    "get_coordinator_address": ("127.0.0.1", "127.0.0.9", "127.0.0.7"),
}
PRESENT_ON_GCE = {
    "GceTpuCluster": "True",
    "MultisliceGceTpuCluster": "True",
    "SingleSliceGceTpuCluster": "False",  # the server knows of several slices
}
ANYTHING = ".*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way for a call to be right: does it ask, and what comes back (a pattern of a repr)."""

    asks: bool
    value: str
    text: str
    may_raise: bool = False

    def holds(self, traffic: int, value: str | None, exception: str | None) -> bool:
        """Say whether a call that made so many requests and connections went this way."""
        if (traffic > 0) is not self.asks:
            return False
        if exception is not None or value is None:
            return self.may_raise
        return re.fullmatch(self.value, value, re.DOTALL) is not None

    def __str__(self) -> str:
        return ("a request and " if self.asks else "no request and ") + self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: owner (a class, or empty for the module), name and arguments.

    `ways` are the right ones; `environment` holds the variables beside TPU_SKIP_MDS_QUERY.
    """

    scenario: Scenario
    owner: str
    name: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ways: tuple[Way, ...]

    def __str__(self) -> str:
        shown = ", ".join(map(repr, self.arguments))
        return f"{self.owner}.{self.name}()" if self.owner else f"{self.name}({shown})"


def calls(variable: str | None, classes: Sequence[str]) -> Iterator[Call]:
    """Yield the calls to make with one value of TPU_SKIP_MDS_QUERY and these cluster classes."""
    for server in Server:
        for environment in Environment:
            scenario = Scenario(variable=variable, environment=environment, server=server)
            # One key says enough about a server that does not answer.
            for key in KEYS if server is Server.UP else KEYS[:1]:
                yield _env_value(scenario, key)
        absent = Scenario(variable=variable, environment=Environment.ABSENT, server=server)
        for name in classes:
            yield _presence(absent, name)
        if GKE in classes and (server is Server.UP or is_set(absent)):
            yield from (_method(absent, name) for name in GKE_METHODS)
    told = Scenario(variable=variable, environment=Environment.VALUE, server=Server.UP)
    if GKE in classes:
        yield from (_method(told, name) for name in GKE_METHODS)
    yield _other_key(variable)
    alone = Scenario(variable=variable, environment=Environment.ABSENT, server=Server.UP)
    yield from (_presence(alone, name, {}) for name in classes)


def if_present(call: Call) -> Iterator[Call]:
    """Yield what jax calls next where a class of a fork has just said that it is present.

    What that returns is the fork's affair; while the variable is set it asks no one.
    """
    known = call.owner == GKE or call.owner in PRESENT_ON_GCE
    if call.name == "is_env_present" and is_set(call.scenario) and not known:
        silent = Way(asks=False, value=ANYTHING, text="any end", may_raise=True)
        yield from (replace(call, name=method, ways=(silent,)) for method in GKE_METHODS)


def _env_value(scenario: Scenario, key: str) -> Call:
    here: dict[str, str] = {}
    quiet = Way(asks=False, value="None", text="None")
    if scenario.environment is Environment.EMPTY:
        here, quiet = {key: ""}, Way(asks=False, value="''|None", text="'' or None")
    wanted: tuple[Way, ...]
    if scenario.environment is Environment.VALUE:
        here = {key: IN_ENVIRONMENT[key]}
        wanted = (_exactly(asks=False, value=repr(IN_ENVIRONMENT[key])),)
    else:
        wanted = _ways(scenario, quiet, _answer(scenario, repr(ON_SERVER[key])))
    return Call(
        scenario=scenario,
        owner="",
        name="get_tpu_env_value",
        arguments=(key,),
        environment=here,
        ways=wanted,
    )


def _other_key(variable: str | None) -> Call:
    """A key that this file never asks for, while the environment has all that it does ask for.

    A fork may know no such key and say so.
    """
    scenario = Scenario(variable=variable, environment=Environment.ABSENT, server=Server.UP)
    quiet = Way(asks=False, value="None", text="None or an error", may_raise=True)
    asking = _exactly(asks=True, value=repr(OTHER_VALUE))
    return Call(
        scenario=scenario,
        owner="",
        name="get_tpu_env_value",
        arguments=(OTHER_KEY,),
        environment=IN_ENVIRONMENT,
        ways=(quiet,) if is_set(scenario) else (quiet, asking),
    )


def _presence(scenario: Scenario, name: str, workers: Mapping[str, str] = WORKERS) -> Call:
    wanted: tuple[Way, ...]
    if name in PRESENT_ON_GCE:
        quiet = _exactly(asks=False, value="False")
        wanted = _ways(scenario, quiet, _answer(scenario, PRESENT_ON_GCE[name]))
    elif name == GKE and workers:
        wanted = (_exactly(asks=False, value="True"),)
    else:  # an abstract base, or a class of a fork: it may say what it likes
        either = Way(asks=False, value="True|False", text="True or False")
        asking = Way(asks=True, value=ANYTHING, text="any end", may_raise=True)
        quiet = _exactly(asks=False, value="False") if name == GKE else either
        wanted = (quiet,) if is_set(scenario) else (quiet, asking)
    return Call(
        scenario=scenario, owner=name, name="is_env_present", environment=workers, ways=wanted
    )


def _method(scenario: Scenario, name: str) -> Call:
    wanted: tuple[Way, ...]
    default, told, served = GKE_METHODS[name]
    more: dict[str, str] = {}
    if scenario.environment is Environment.VALUE:
        more, wanted = IN_ENVIRONMENT, (_exactly(asks=False, value=told),)
    else:
        quiet, asking = _exactly(asks=False, value=default), _exactly(asks=True, value=served)
        wanted = _ways(scenario, quiet, asking)
    return Call(
        scenario=scenario, owner=GKE, name=name, environment={**WORKERS, **more}, ways=wanted
    )


def _ways(scenario: Scenario, quiet: Way, asking: Way) -> tuple[Way, ...]:
    """Set: quiet. Unset: asking. Empty, `false` and `0`: as the guard of the copy reads them."""
    if is_set(scenario):
        return (quiet,)
    # Without a value of its own an empty variable keeps jax from asking, with or without a guard.
    if scenario.variable is None and scenario.environment is not Environment.EMPTY:
        return (asking,)
    return (quiet, asking)


def _answer(scenario: Scenario, value: str) -> Way:
    """Return what asking this server must lead to; if it fails, so may the call."""
    if scenario.server is Server.UP:
        return _exactly(asks=True, value=value)
    return Way(asks=True, value=ANYTHING, text="any end", may_raise=True)


def _exactly(*, asks: bool, value: str) -> Way:
    """Return the way that ends in this value; a bare address stands for it and any port."""
    if re.fullmatch(r"[\d.]{7,}", value):
        return Way(asks=asks, value=rf"'{re.escape(value)}:\d+'", text=f"'{value}:PORT'")
    return Way(asks=asks, value=re.escape(value), text=value)
