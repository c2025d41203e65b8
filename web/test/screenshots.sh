#!/usr/bin/env bash
# Makes the pictures of the README, from the demo data.
set -euo pipefail
cd "$(dirname "$0")/../.."
. web/test/demo-server.sh
node web/test/screenshots.mjs
