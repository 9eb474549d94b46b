#!/usr/bin/env bash
# Lints all packages of this module; as "lint.sh changed", only those in which something is newer than bin/linted. That
# file is from when the latest run began of those in which nothing was found.
set -euo pipefail
shopt -s inherit_errexit
go=${GO:-go}

stamp=$(mktemp -p bin linting.XXXXXX)
trap 'rm -f "$stamp"' EXIT

changed() {
  local folders folder
  folders=$("$go" list -e -f '{{.Dir}}' ./...)
  while IFS= read -r folder; do
    # A file that was removed leaves its trace on the folder.
    [ -z "$(find "$folder" -maxdepth 1 \( -name '*.go' -o -path "$folder" \) -newer bin/linted -print -quit)" ] || echo ".${folder#"$PWD"}"
  done <<<"$folders"
}

packages=./...
# Of another linter, or with other versions, all is new.
if [ "${1:-}" = changed ] && [ -e bin/linted ] && [ -z "$(find .golangci.yml go.mod go.sum bin/golangci-lint -newer bin/linted)" ]; then
  packages=$(changed)
fi
if [ -n "$packages" ]; then
  # Package names have no blanks.
  echo bin/golangci-lint run --allow-parallel-runners $packages
  bin/golangci-lint run --allow-parallel-runners $packages
fi
mv "$stamp" bin/linted
