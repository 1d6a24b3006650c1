"""Hand-written modules of the shape that jax's file has, to be varied by tests."""

from __future__ import annotations

HEAD = """import os

def get_metadata(key):
  import requests
  endpoint = 'http://' + os.environ.get('GCE_METADATA_IP', 'metadata.google.internal')
  return requests.get(f'{endpoint}/computeMetadata/v1/instance/attributes/{key}').text, 200

"""
FUNCTION = """def get_tpu_env_value(key):
  value = os.environ.get(key, None)
  if value is None:
    value = get_metadata(key)[0]
  return value
"""
TAIL = """
class GkeTpuCluster:
  name = "gketpu"   # two blanks, kept
"""
GUARDED = FUNCTION.replace(
    "value is None:", 'value is None and os.environ.get("TPU_SKIP_MDS_QUERY") is None:'
)
MODULE = HEAD + FUNCTION + TAIL
PATCHED = HEAD + GUARDED + TAIL


def module(function: str, imports: str = "import os\n") -> str:
    """A module with another `get_tpu_env_value`."""
    return HEAD.replace("import os\n", imports, 1) + function
