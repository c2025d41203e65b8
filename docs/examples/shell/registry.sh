#!/usr/bin/env bash
# Publishes the folder of a skill, lists its versions, rolls it back. Needs curl, jq and tar.
#   registry.sh publish FOLDER VERSION [WHAT IS NEW]
#   registry.sh versions NAME
#   registry.sh rollback NAME REASON
set -euo pipefail
: "${SKILLGRAPH_URL:?}" "${SKILLGRAPH_KEY:?}"

archive=$(mktemp)
trap 'rm -f "$archive"' EXIT

# call PATH [CURL OPTION]...: prints the answer; what the server refuses is told on standard error.
call() {
  local answer
  if ! answer=$(curl -sS --fail-with-body "$SKILLGRAPH_URL$1" -H "Authorization: Bearer $SKILLGRAPH_KEY" "${@:2}"); then
    # {"error": {"message": …}}, or {"error": "Validation failed", "details": {"path": […], "message": …}}
    jq -r '.details // .error | [(.path // [] | join(".")), .message] | map(select(. > "")) | join(": ")' <<<"$answer" >&2
    return 1
  fi
  printf '%s\n' "$answer"
}

find_entry() { # NAME: the id of its entry, or nothing
  call "/api/v1/registry?name=$1" | jq -r '.entries[].id'
}

entry() { # NAME: the path of its entry
  local id
  id=$(find_entry "$1") || return
  [ -n "$id" ] || { echo "there is no entry $1" >&2 && return 1; }
  echo "/api/v1/registry/$id"
}

publish() { # FOLDER VERSION SUMMARY
  local name id metadata path=/api/v1/registry
  name=$(basename "$(cd "$1" && pwd)")
  tar -czf "$archive" -C "$1" .
  # With its SHA-256 the server refuses an archive that was damaged on the way.
  metadata=$(jq -n --arg version "$2" --arg summary "$3" --arg hash "$(sha256sum "$archive" | cut -d ' ' -f 1)" \
    '{version: $version, change_summary: $summary, content_hash: $hash}')
  id=$(find_entry "$name")
  if [ -n "$id" ]; then
    path+="/$id/versions"
  else
    metadata=$(jq --arg name "$name" '. + {name: $name, entry_type: "skill"}' <<<"$metadata")
  fi
  call "$path" --form-string "metadata=$metadata" -F "archive=@$archive" |
    jq -r '"published \(.entry.name) \(.version.version)"'
}

versions() { # NAME
  local path
  path=$(entry "$1")
  call "$path/versions" | jq -r '.versions[] |
    "\(if .is_current then "*" else " " end) \(.version)  \(.change_summary // "-")\(if .rolled_back then " (rolled back)" else "" end)"'
}

rollback() { # NAME REASON
  local path
  path=$(entry "$1")
  call "$path/rollback" -H 'Content-Type: application/json' -d "$(jq -n --arg reason "$2" '{reason: $reason}')" |
    jq -r '"back to \(.version.version): \(.reason)"'
}

case ${1:-} in
  publish) publish "${2:?a folder}" "${3:?a version}" "${4:-}" ;;
  versions) versions "${2:?a name}" ;;
  rollback) rollback "${2:?a name}" "${3:?a reason}" ;;
  *) sed -n '2,5s/^# //p' "$0" >&2 && exit 2 ;;
esac
