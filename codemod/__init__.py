"""Put the TPU_SKIP_MDS_QUERY guard into the jax that is already there."""

__version__ = "0.1.0"
