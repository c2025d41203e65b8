#!/bin/sh
# Tells skillgraph of every push to this bare repository. Save it as hooks/post-receive, make it executable, and say once:
#
#   git config skillgraph.url http://127.0.0.1:8080     where the server is
#   git config skillgraph.installation 1                the installation that the organization has bound
#   git config skillgraph.secret …                      the server's SKILLGRAPH_REPOHOST_WEBHOOK_SECRET
#
# It needs curl and openssl. A push never fails because of it.

url=$(git config skillgraph.url)
installation=$(git config skillgraph.installation)
secret=$(git config skillgraph.secret)
if [ -z "$url" ] || [ -z "$installation" ] || [ -z "$secret" ]; then
  echo "skillgraph: set skillgraph.url, skillgraph.installation and skillgraph.secret with git config" >&2
  exit 0
fi

here=$(cd "$(git rev-parse --git-dir)" && pwd)
repository=$(basename "$(dirname "$here")")/$(basename "$here" .git)

while read -r before after ref; do
  created=false
  deleted=false
  case $before in *[!0]*) ;; *) created=true ;; esac
  case $after in *[!0]*) ;; *) deleted=true ;; esac
  name=$(printf '%s' "$ref" | sed 's/"/\\"/g')
  body=$(printf '{"ref":"%s","before":"%s","after":"%s","created":%s,"deleted":%s,"forced":false,"repository":{"full_name":"%s"},"installation":{"id":%s}}' \
    "$name" "$before" "$after" "$created" "$deleted" "$repository" "$installation")
  signature=$(printf '%s' "$body" | openssl dgst -sha256 -hmac "$secret" | sed 's/^.* //')
  # A tag that was deleted and comes back as it was is news, so the time is part of the id.
  delivery=$(printf '%s %s %s %s %s %s' "$repository" "$ref" "$before" "$after" "$(date +%s)" $$ | openssl dgst -sha256 | sed 's/^.* //')
  printf '%s' "$body" | curl -fsS -m 10 -o /dev/null -X POST --data-binary @- \
    -H 'Content-Type: application/json' -H 'X-Repohost-Event: push' \
    -H "X-Repohost-Delivery: $delivery" -H "X-Repohost-Signature-256: sha256=$signature" \
    "$url/api/v1/repohost/webhook" || echo "skillgraph: could not be told of $ref" >&2
done
