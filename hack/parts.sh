#!/usr/bin/env bash
# Copyright The web-operators Authors.
# SPDX-License-Identifier: Apache-2.0
#
# parts.sh TARGET… makes each target, goes on when one fails, and ends with a
# summary. It fails when one of them did.
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0 failed=0 summary=""
for part in "$@"; do
  printf '\n=== make %s\n' "$part"
  begin=$SECONDS
  if make "$part"; then
    result=passed passed=$((passed + 1))
  else
    result=FAILED failed=$((failed + 1))
  fi
  summary+=$(printf '%-18s %s  %4d s' "$part" "$result" $((SECONDS - begin)))$'\n'
done

printf '\n=== summary\n%sin all %27d s\n' "$summary" "$SECONDS"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
