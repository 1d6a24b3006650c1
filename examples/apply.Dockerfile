# An image that you have, with the guard in the jax that is in it:
#   docker build --build-arg BASE=registry/image:tag -f apply.Dockerfile .
ARG BASE=python:3.12-slim
FROM ${BASE}
# Python 3.11 or newer for the tool, which is gone from the layer in the end; jax may run on another.
ARG PYTHON=python3
RUN python3 -m venv /opt/codemod \
 && /opt/codemod/bin/pip install --quiet --no-cache-dir jax-codemod \
 && /opt/codemod/bin/codemod apply "$(command -v ${PYTHON})" \
 && /opt/codemod/bin/codemod verify "$(command -v ${PYTHON})" \
 && rm -r /opt/codemod
ENV TPU_SKIP_MDS_QUERY=true
