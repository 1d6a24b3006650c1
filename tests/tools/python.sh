#!/bin/sh
# Print the path of a Python that is new enough; PYTHON=… names one.
for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 "${HOME:-}"/.pyenv/versions/3.1[1-9]*/bin/python; do
  if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    command -v "$candidate"
    exit
  fi
done
echo "no Python 3.11 or newer found; name one with PYTHON=…" >&2
exit 1
