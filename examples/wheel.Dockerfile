# An image of your own that installs a patched wheel in place of upstream's:
#   docker build --build-arg JAX=0.8.0 -f wheel.Dockerfile .
ARG PYTHON=python:3.12-slim
FROM ${PYTHON} AS wheels
ARG JAX=0.8.0
RUN pip install --quiet --no-cache-dir jax-codemod
RUN codemod wheel "jax==${JAX}" -o /wheels

FROM ${PYTHON}
ARG JAX=0.8.0
# jax[tpu] takes the same place; the exact pin prefers the local version that it finds in /wheels.
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    pip install --quiet --no-cache-dir --find-links /wheels "jax==${JAX}" "jaxlib==${JAX}"
ENV TPU_SKIP_MDS_QUERY=true
