#!/usr/bin/env bash
# Prints the packages of this module in which something is newer than a file, for make check to lint these alone. Prints
# ./... if there is no such file, or if what lints changed since then, too.
#
#   changed.sh FILE GO [WHAT_LINTS...]
set -euo pipefail
since=$1 go=$2
shift 2

if [ ! -e "$since" ] || [ -n "$(find "$@" -maxdepth 0 -newer "$since")" ]; then
  echo ./...
  exit
fi
"$go" list -e -f '{{.Dir}}' ./... | while IFS= read -r folder; do
  # A file that was removed leaves its trace on the folder.
  found=$(find "$folder" -maxdepth 1 \( -name '*.go' -o -path "$folder" \) -newer "$since" -print -quit)
  [ -z "$found" ] || echo ".${folder#"$PWD"}"
done
