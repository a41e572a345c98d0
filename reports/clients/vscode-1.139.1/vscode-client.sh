#!/usr/bin/env bash
# vscode-client.sh URL: VS Code's own AHP client, headless, connects to the host at URL (ws://127.0.0.1:PORT).
# Starts code-server's server with the agent host bridge, and chromium on its page, in a fresh profile folder.
# Stays in the foreground. Everything is in the process group of this script and ends with it.
#   VSCODE_DIR  the folder lib/vscode of the npm package code-server, with its dependencies installed
#   NODE        Node 24 (default: node)      CHROMIUM  (default: chromium)      KEEP_LOGS  a folder for the logs
set -u
URL=${1:?url}
VS=${VSCODE_DIR:?}; NODE=${NODE:-node}; CHROMIUM=${CHROMIUM:-chromium}
HP=${URL#*://}; HP=${HP%%/*}; HOST=${HP%:*}; PORT=${HP##*:}
P=$(mktemp -d "${TMPDIR:-/tmp}/vscode-client.XXXXXX")
trap 'rm -rf "$P"' EXIT
trap 'exit 143' TERM INT HUP
mkdir -p "$P"/{home,server,browser,work}
P2=$("$NODE" -e 's=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
export HOME="$P/home" XDG_CONFIG_HOME="$P/home/.config" XDG_CACHE_HOME="$P/home/.cache"
LOG=${KEEP_LOGS:-$P}
"$NODE" "$VS/out/server-main.js" --host 127.0.0.1 --port "$P2" --without-connection-token --accept-server-license-terms \
  --server-data-dir "$P/server" --telemetry-level off ${VSCODE_ARGS:-} \
  --agent-host-bridge-host "$HOST" --agent-host-bridge-port "$PORT" >"$LOG/server.log" 2>&1 </dev/null &
for _ in $(seq 1 100); do (exec 3<>"/dev/tcp/127.0.0.1/$P2") 2>/dev/null && break; sleep 0.1; done
"$CHROMIUM" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking --disable-component-update \
  --disable-sync --disable-extensions --enable-logging=stderr --user-data-dir="$P/browser" ${CHROMIUM_ARGS:-} "http://127.0.0.1:$P2/?folder=$P/work" >"$LOG/browser.log" 2>&1 </dev/null &
wait
