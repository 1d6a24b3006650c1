#!/bin/sh
# Make a virtual environment with the project in it: with uv where it is there, else with venv and pip.
# usage: setup.sh FOLDER [runtime]   (runtime: the tool only, installed as users get it)
set -eu
folder=$1
kind=${2:-development}
python=$(sh "$(dirname "$0")/python.sh")

if command -v uv >/dev/null 2>&1; then
  [ -x "$folder/bin/python" ] || uv venv -q --seed --python "$python" "$folder"
  # uv takes a folder whose pyproject.toml is the same for installed.
  install() { uv pip install -q --python "$folder/bin/python" --compile-bytecode --reinstall-package jax-codemod "$@"; }
else
  [ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
  "$folder/bin/python" -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'  # knows --group
  install() { "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@"; }
fi
if [ "$kind" = runtime ]; then
  install .
else
  install -e . --group test --group lint --group bench
fi
