#!/usr/bin/env bash
# What the Makefile calls in the place of go. What go says is shown as it comes; when it fails for a reason that lies
# outside of this repository, a last line says what can be done about it.
#
#   go.sh sources [PACKAGES]   is there a Go that is new enough, and can it get all sources? Without an answer, nothing
#                              else has a chance, and go would tell it once for every package
#   go.sh ARGUMENTS...         go ARGUMENTS
#
# GO is the go command.
set -u
shopt -s lastpipe
go=${GO:-go}

if ! command -v "$go" >/dev/null; then
  echo "Go is needed, and there is no '$go' on the PATH. Install Go 1.26 or newer." >&2
  exit 1
fi

shown=1000
if [ "${1:-}" = sources ]; then
  shift
  set -- list -deps -f '{{with .Error}}{{end}}' "$@"
  shown=3
fi

advice= lines=0
exec 3>&1
"$go" "$@" 2>&1 >&3 | while IFS= read -r line; do
  case $line in
    "go: downloading "*) printf '%s\n' "$line" >&2; continue ;;
    *"no space left on device"* | *"disk quota exceeded"*)
      advice="The disk is full. Free some (go clean -cache gives back what Go keeps), or point GOCACHE, GOMODCACHE, GOTMPDIR and XDG_CACHE_HOME at a larger one." ;;
    *"dial tcp"* | *"no such host"* | *"i/o timeout"* | *"connection refused"* | *"TLS handshake"* | *proxyconnect* | *"module lookup disabled"*)
      advice="The sources come from the Go module proxy, which did not answer. Check the network, or set GOPROXY to one that is reachable (go env GOPROXY shows the present one)." ;;
    *"checksum mismatch"* | *"SECURITY ERROR"*)
      advice="A source in Go's module cache is not what was pinned. Remove it with: go clean -modcache" ;;
    *"requires go >="* | *"unknown directive"* | *"invalid go version"*)
      advice="Reroll needs Go 1.26 or newer; this is $("$go" version 2>/dev/null). Install one, or let go fetch it: GOTOOLCHAIN=auto." ;;
  esac
  lines=$((lines + 1))
  [ "$lines" -gt "$shown" ] || printf '%s\n' "$line" >&2
done
code=${PIPESTATUS[0]}
[ "$code" -eq 0 ] && exit 0

[ "$lines" -le "$shown" ] || echo "… and $((lines - shown)) lines more" >&2
if [ -z "$advice" ] && [ -n "$("$go" env GOFLAGS 2>/dev/null)" ]; then
  advice="GOFLAGS is set to '$("$go" env GOFLAGS)'. Try without: GOFLAGS= make …"
fi
[ -z "$advice" ] || echo "$advice" >&2
exit "$code"
