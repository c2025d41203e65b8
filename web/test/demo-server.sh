# Sourced from the root of the repository: starts bin/skillgraph with the demo data on a database of its own, exports
# where it is and two keys, and stops it in the end.
dir=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } || true
  rm -rf "$dir"
}
trap cleanup EXIT

SKILLGRAPH_KEY=$(bin/skillgraph demo --data-dir "$dir/data")
SKILLGRAPH_FREE_KEY=$(bin/skillgraph key create --data-dir "$dir/data" --org tinkerers --user barbara@example.net)
bin/skillgraph serve --data-dir "$dir/data" --addr 127.0.0.1:0 >"$dir/out" 2>"$dir/log" &
server=$!
until SKILLGRAPH_URL=$(grep -om1 'http://[0-9.:]*' "$dir/out"); do
  kill -0 "$server" 2>/dev/null || { cat "$dir/log" && exit 1; }
  sleep 0.1
done
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
export SKILLGRAPH_URL SKILLGRAPH_KEY SKILLGRAPH_FREE_KEY CHROMIUM
