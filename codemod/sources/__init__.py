"""Where copies of jax and pins of it are found, and how their bytes are read without unpacking."""
