#!/usr/bin/env bash
# Puts the image or the charts of a release into a registry, and signs it there. Who calls it has logged in.
#
#   publish.sh image bin/release ghcr.io/owner/reroll:1.2.3
#   publish.sh chart bin/release ghcr.io/owner/charts
#
# COSIGN_FLAGS are for cosign: by default it signs as who runs the workflow.
set -euo pipefail
what=$1 from=$2 to=$3
read -r -a flags <<<"${COSIGN_FLAGS:---yes}"

case $what in
image)
  layout=$(mktemp -d)
  trap 'rm -rf "$layout"' EXIT
  tar -xf "$from"/reroll-image-*-oci.tar -C "$layout"
  bin/crane push "$layout" "$to" >/dev/null
  digest=$(bin/crane digest "$to")
  if [ "$digest" != "$(cat "$from/image-digest.txt")" ]; then
    echo "publish: the registry has $to as $digest, and it was made as $(cat "$from/image-digest.txt"): it is not signed" >&2
    exit 1
  fi
  bin/cosign sign "${flags[@]}" --recursive "${to%:*}@$digest"
  ;;
chart)
  for chart in reroll reroll-checksum; do
    # Helm prints where it put the chart, and its digest.
    said=$(bin/helm push ${HELM_FLAGS:-} "$from/$chart"-[0-9]*.tgz "oci://$to" 2>&1)
    echo "$said"
    digest=$(sed -n 's/^Digest: //p' <<<"$said")
    bin/cosign sign "${flags[@]}" "$to/$chart@${digest:?helm did not say the digest}"
  done
  ;;
*)
  echo "publish: want image or chart, got $what" >&2
  exit 2
  ;;
esac
