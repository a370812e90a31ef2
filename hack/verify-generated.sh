#!/usr/bin/env bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs a generator and fails when it changes, adds or removes a file below the given paths.
#
# usage: verify-generated.sh <command> <path>...
#
# The files are compared with themselves before, not with the last commit: who has generated but not committed yet has
# done what is asked for, and a tree without git can be checked too. The current files are left in the tree.

set -euo pipefail

command=$1
shift

fingerprint() {
  # A path may not exist yet; one that appears is a difference.
  for path in "$@"; do
    if [ -e "$path" ]; then find "$path" -type f; fi
  done | LC_ALL=C sort | xargs --no-run-if-empty sha256sum
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fingerprint "$@" >"$work/before"
$command
fingerprint "$@" >"$work/after"

changed=$({ diff "$work/before" "$work/after" || true; } | sed -n 's/^[<>] [0-9a-f]*  //p' | LC_ALL=C sort -u)
if [ -n "$changed" ]; then
  echo "These generated files were not current:" >&2
  while IFS= read -r file; do echo "  $file" >&2; done <<<"$changed"
  echo "They are now. Look at them (git diff) and commit them; the command was: make generate manifests docs-reference" >&2
  exit 1
fi
echo "generated files are current"
