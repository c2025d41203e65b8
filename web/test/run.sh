#!/usr/bin/env bash
# Tests the built server from outside, with the demo data on a database of its own: the pages' own tests, the
# GraphQL-over-HTTP audits, the examples of clients, and the pages in a browser. What the machine lacks is skipped, but not with CI=true.
set -euo pipefail
cd "$(dirname "$0")/../.."

passed=0 failed=0 skipped=0

part() { # name, command...
  echo "== $1"
  if "${@:2}"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $1"; fi
}

skip() { # name, what is missing
  if [ "${CI:-}" = true ]; then
    failed=$((failed + 1)) && echo "FAILED: $1: $2 is missing, and CI skips nothing"
  else
    skipped=$((skipped + 1)) && echo "SKIPPED: $1: $2 is missing"
  fi
}

finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  exit "$((failed > 0))"
}

in_web() { npm --silent --prefix web "$@"; }

if ! command -v npm >/dev/null; then
  for name in types examples audits openapi clients live playground dashboard; do skip "$name" npm; done
  finish
fi
part types in_web run typecheck
part examples in_web test

. web/test/demo-server.sh

part audits in_web run audit
part openapi in_web run test:openapi
for client in go:go typescript:npm python:python3 shell:jq; do # in this order: the last one publishes a skill
  name="clients: ${client%:*}" needs=${client#*:}
  if command -v "$needs" >/dev/null; then part "$name" node web/test/clients.mjs "${client%:*}"; else skip "$name" "$needs"; fi
done
part live in_web run test:live
for name in playground dashboard; do
  if [ -n "$CHROMIUM" ]; then part "$name" in_web run "test:$name"; else skip "$name" chromium; fi
done

[ "$failed" = 0 ] || tail -n 30 "$dir/log"
finish
