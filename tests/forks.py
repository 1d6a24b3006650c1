"""Hand-written trees of the shapes that development versions and forks have.

Each is a whole jax package as far as a run needs it: the cluster file, its siblings, and what
they import. The pieces are varied one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FILE = "jax/_src/clusters/cloud_tpu_cluster.py"
ENV, DETECT, DEFAULTS = "skip_mds_env_value", "skip_mds_detection", "single_slice_defaults"

IMPORTS = """import logging
import os
import socket
from jax._src import clusters
from jax._src.cloud_tpu_init import running_in_cloud_tpu_vm

logger = logging.getLogger(__name__)
"""
GET_METADATA = """
def get_metadata(key):
  import requests
  host = os.environ.get("GCE_METADATA_IP", "metadata.google.internal")
  answer = requests.get(f"http://{host}/computeMetadata/v1/instance/attributes/{key}",
                        headers={"Metadata-Flavor": "Google"}, timeout=60)
  return answer.text, answer.status_code
"""
HELPER = """
def get_tpu_env_value_from_metadata(key):
  for line in get_metadata("tpu-env")[0].splitlines():
    name, _, value = line.partition(":")
    if name.strip() == key:
      return value.strip().strip("'")
  return None
"""
ENV_VALUE = """
def get_tpu_env_value(key):
  value = os.environ.get(key, None)
  if value is None:
    value = get_tpu_env_value_from_metadata(key)
  return value
"""
GUARD = ' and os.environ.get("TPU_SKIP_MDS_QUERY") is None'
BASE = """
class BaseTpuCluster(clusters.ClusterEnv):
  @classmethod
  def is_env_present(cls):
    return False

  @classmethod
  def get_coordinator_address(cls, timeout_secs, override_coordinator_port=None):
    address = get_tpu_env_value("MEGASCALE_COORDINATOR_ADDRESS")
    if not address:
      address = cls._get_worker_list_in_slice()[0]
    host = address.split(":")[0]
    socket.gethostbyname(host)
    return f"{host}:{override_coordinator_port or 8482}"

  @classmethod
  def get_process_count(cls):
    slices = get_tpu_env_value("MEGASCALE_NUM_SLICES")
    return len(cls._get_worker_list_in_slice()) * (int(slices) if slices else 1)

  @classmethod
  def get_process_id(cls):
    which = get_tpu_env_value("MEGASCALE_SLICE_ID")
    if not which:
      return cls._get_process_id_in_slice()
    workers = len(cls._get_worker_list_in_slice())
    return cls._get_process_id_in_slice() + int(which) * workers

  @staticmethod
  def _get_process_id_in_slice():
    raise NotImplementedError

  @staticmethod
  def _get_worker_list_in_slice():
    raise NotImplementedError
"""
GCE = """
class GceTpuCluster(BaseTpuCluster):
  @classmethod
  def is_env_present(cls):
    if not running_in_cloud_tpu_vm:
      return False
    if os.environ.get("TPU_SKIP_MDS_QUERY") is not None:
      logger.debug("told not to ask")
      return False
    return get_metadata("agent-worker-number")[1] == 200

  @staticmethod
  def _get_process_id_in_slice():
    return int(get_metadata("agent-worker-number")[0])

  @staticmethod
  def _get_worker_list_in_slice():
    workers = get_metadata("worker-network-endpoints")[0].split(",")
    return [worker.split(":")[2] for worker in workers]
"""
GKE = """
class GkeTpuCluster(BaseTpuCluster):
  @classmethod
  def is_env_present(cls):
    return running_in_cloud_tpu_vm and os.environ.get("TPU_WORKER_HOSTNAMES") is not None

  @staticmethod
  def _get_process_id_in_slice():
    return int(os.environ["TPU_WORKER_ID"])

  @staticmethod
  def _get_worker_list_in_slice():
    return os.environ["TPU_WORKER_HOSTNAMES"].split(",")
"""
UNGUARDED_GCE = GCE.replace(
    """    if os.environ.get("TPU_SKIP_MDS_QUERY") is not None:
      logger.debug("told not to ask")
      return False
""",
    "",
)
WHOLE = IMPORTS + GET_METADATA + HELPER + ENV_VALUE + BASE + GCE + GKE
HTTP = """from urllib.error import HTTPError
from urllib.request import Request, urlopen

class Answer:
  def __init__(self, text, status_code):
    self.text, self.status_code = text, status_code

def fetch(url, headers):
  try:
    with urlopen(Request(url, headers=headers)) as answer:
      return Answer(answer.read().decode(), answer.status)
  except HTTPError as error:
    return Answer(error.read().decode(), error.code)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A tree: its files by path, the files to be changed and by which patches."""

    files: dict[str, str]
    needs: dict[str, set[str]] = field(default_factory=lambda: {FILE: {ENV}})
    newline: str = "\n"


def one(text: str, *needs: str, newline: str = "\n", **more: str) -> Fork:
    """A tree whose cluster file is `text`; needs the first patch if none is named."""
    files = {FILE: text, **{f"jax/_src/{name}.py": held for name, held in more.items()}}
    return Fork(files=files, needs={FILE: {*needs} or {ENV}}, newline=newline)


def swapped(*pairs: tuple[str, str]) -> str:
    """The whole file with pieces replaced; each must be there."""
    text = WHOLE
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


RETRY = GET_METADATA.replace(
    "  answer = requests.get(", "  for attempt in range(2):\n   try:\n    answer = requests.get("
).replace(
    "  return answer.text",
    "    break\n   except requests.exceptions.ConnectionError:\n    if attempt:\n      raise\n"
    "  return answer.text",
)
DICT_HELPER = """
def read_tpu_env():
  lines = get_metadata("tpu-env")[0].splitlines()
  pairs = [line.partition(":") for line in lines]
  return {name.strip(): value.strip().strip("'") for name, _, value in pairs}
"""
STATIC = """
class TpuEnvironment:
  @staticmethod
  def get_tpu_env_value(key):
    value = os.environ.get(key, None)
    if value is None:
      value = get_tpu_env_value_from_metadata(key)
    return value
"""
BLACK = '''
def get_tpu_env_value(
    key: str,
) -> str | None:
    """Look a value up.

    First in the environment.
    """
    value = os.environ.get(
        key,
        None,
    )
    if value is None:
        value = get_tpu_env_value_from_metadata(
            key,
        )
    return value
'''
TRUTH = """
def get_tpu_env_value(key):
  value = os.environ.get(key, None)
  if value is None and not skip_mds_query():
    value = get_tpu_env_value_from_metadata(key)
  return value

def skip_mds_query():
  return os.environ.get("TPU_SKIP_MDS_QUERY", "").lower() not in ("", "0", "false")
"""
EXTRA = """
class LocalTpuCluster(BaseTpuCluster):
  @classmethod
  def is_env_present(cls):
    return running_in_cloud_tpu_vm and skip_mds_query() and 'LOCAL_TPU' in os.environ

  @staticmethod
  def _get_process_id_in_slice():
    return 0

  @staticmethod
  def _get_worker_list_in_slice():
    return ["localhost"]
"""
NO_FALLBACK = (
    BASE.replace("    if not address:\n      address = cls._get_worker_list_in_slice()[0]\n", "")
    .replace("(int(slices) if slices else 1)", "int(slices)")
    .replace("    if not which:\n      return cls._get_process_id_in_slice()\n", "")
)

ABSTRACT = BASE.replace(" get_tpu_env_value(", " cls.get_tpu_env_value(").replace(
    "  @classmethod\n  def get_c",
    "  @staticmethod\n  def get_tpu_env_value(key):\n    raise NotImplementedError\n\n"
    "  @classmethod\n  def get_c",
)
OWN = "  get_tpu_env_value = staticmethod(get_tpu_env_value)\n"
FROM_BASE = "from jax._src.clusters.cloud_tpu_cluster import BaseTpuCluster\n"
FROM_GCE = "from jax._src.clusters.cloud_gce_cluster import get_tpu_env_value\n"
FOLDER = FILE.rpartition("/")[0]
SPLIT = Fork(
    files={
        FILE: IMPORTS + ABSTRACT,
        f"{FOLDER}/cloud_gce_cluster.py": IMPORTS
        + FROM_BASE
        + GET_METADATA
        + HELPER
        + ENV_VALUE
        + GCE.replace(":\n", ":\n" + OWN, 1),
        f"{FOLDER}/cloud_gke_cluster.py": IMPORTS
        + FROM_BASE
        + FROM_GCE
        + GKE.replace(":\n", ":\n" + OWN, 1),
        f"{FOLDER}/other_cluster.py": "from jax._src import clusters\n",
    },
    needs={f"{FOLDER}/cloud_gce_cluster.py": {ENV}},
)

FORKS = {
    "as the newest release": one(WHOLE),
    "retry loop": one(swapped((GET_METADATA, RETRY))),
    "requests at module level": one(
        swapped(
            ("  import requests\n", ""), ("import socket\n", "import socket\nimport requests\n")
        )
    ),
    "a session of requests": one(
        swapped(
            ("  import requests\n", ""),
            ("requests.get(", "SESSION.get("),
            ("import socket\n", "import socket\nimport requests\n\nSESSION = requests.Session()\n"),
        )
    ),
    "a wrapper in place of requests": one(
        swapped(
            ("  import requests\n", ""),
            ("requests.get(", "http_client.fetch("),
            (", timeout=60", ""),
            ("import clusters\n", "import clusters\nfrom jax._src import http_client\n"),
        ),
        http_client=HTTP,
    ),
    "black": one(swapped((ENV_VALUE, BLACK))),
    "CRLF": one(WHOLE, newline="\r\n"),
    "no newline at the end": one(WHOLE.rstrip("\n")),
    "static method": one(
        swapped(
            (ENV_VALUE, STATIC),
            (' = get_tpu_env_value("', ' = TpuEnvironment.get_tpu_env_value("'),
        )
    ),
    "leading underscore": one(swapped(("get_tpu_env_value(", "_get_tpu_env_value("))),
    "helper called otherwise": one(swapped(("get_tpu_env_value_from_metadata", "_ask_for"))),
    "helper that gives a dict": one(
        swapped(
            (HELPER, DICT_HELPER),
            ("get_tpu_env_value_from_metadata(key)", "read_tpu_env().get(key)"),
        )
    ),
    "relative imports": one(
        swapped(
            ("from jax._src import clusters", "from .. import clusters"),
            ("from jax._src.cloud_tpu_init", "from ..cloud_tpu_init"),
        )
    ),
    "detection not guarded": one(swapped((GCE, UNGUARDED_GCE)), ENV, DETECT),
    "no fallbacks, detection guarded": one(swapped((BASE, NO_FALLBACK)), ENV, DEFAULTS),
    "nothing at all": one(
        swapped((GCE, UNGUARDED_GCE), (BASE, NO_FALLBACK)), ENV, DETECT, DEFAULTS
    ),
    "detection in an extra class": one(
        swapped((GKE, GKE + UNGUARDED_GCE.replace("GceTpu", "PodTpu"))), ENV, DETECT
    ),
}

UPSTREAM = {
    "the pending fix": one(swapped((ENV_VALUE, TRUTH), (GKE, GKE + EXTRA))),
    "the guard by presence": one(swapped(("value is None:", f"value is None{GUARD}:"))),
}
