#!/usr/bin/env bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# browser.sh brings what the browser tests need and no Go module has: Chromium,
# from the system's packages, and the accessibility checker axe-core, into the
# user's cache. It says where that is.
set -euo pipefail

version=4.14.0
# The hash that npm's registry publishes as dist.integrity, in hexadecimal.
sha512=f564d9c448ec67b6f5dd31fc24f99b576cfc0876e5f34ff6866dd73c41b826035d40b2bcd480515e64b11df3003a44aa41e4714ffd1dc0d0f3d863a6df3ce971
cache=${XDG_CACHE_HOME:-$HOME/.cache}/web-operators/axe-core/$version

if ! command -v chromium >/dev/null; then
  echo "missing on this machine: Chromium and a font, for the browser tests" >&2
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "install these packages (their Debian names) and try again: chromium fonts-dejavu-core" >&2
    exit 1
  fi
  echo "installing chromium fonts-dejavu-core" >&2
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -y -q && apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; } >&2
fi

if [ ! -e "$cache/axe.min.js" ]; then
  if ! command -v npm >/dev/null; then
    echo "missing on this machine: npm, which fetches axe-core; install it and try again" >&2
    exit 1
  fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --silent "axe-core@$version" >/dev/null)
  if ! echo "$sha512  $work/axe-core-$version.tgz" | sha512sum --check --status; then
    echo "axe-core $version is not what it was when its hash was written down: do not use it, and look where npm gets its packages" >&2
    exit 1
  fi
  tar -xzf "$work/axe-core-$version.tgz" -C "$work" package/axe.min.js
  mkdir -p "$cache"
  # In one step: what is there is whole.
  mv "$work/package/axe.min.js" "$cache/.axe.min.js.$$"
  mv "$cache/.axe.min.js.$$" "$cache/axe.min.js"
fi
echo "$cache/axe.min.js"
