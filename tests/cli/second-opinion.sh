#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# ibdmchk, which shares nothing with the project, reads the dumps and agrees with the checker: no
# credit loops in what dfsssp made, credit loops where sssp routed a ring.
set -u
command=$1 root=$2
command -v ibdmchk >/dev/null || { echo "skipped: no ibdmchk"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# opinion ENGINE FABRIC: what ibdmchk says of the tables.
opinion() {
	rm -rf "$dir/dump"
	"$command" route -e "$1" --dump "$dir/dump" --path-sl "$root/topologies/$2.net" >/dev/null
	# 1: tables with a credit loop, which are written all the same.
	[ $? -le 1 ] && ibdmchk -s "$dir/dump/opensm-subnet.lst" -f "$dir/dump/opensm.fdbs" \
			-m "$dir/dump/opensm.mcfdbs" -d "$dir/dump/opensm-sl2vl.dump" \
			-c "$dir/dump/opensm-path-sl.dump" 2>&1
}

bad=0
for name in tree-2 tree-3 ring-5 torus-4x4 hyperx-3x3 hypercube-3 kautz-2-2 dragonfly-12 random-12 \
	    parallel bare-switches cluster-192; do
	said=$(opinion dfsssp $name)
	if ! grep -q "no credit loops found" <<<"$said" || grep -q -e "^-E-" <<<"$said"; then
		printf '%s:\n%s\n' $name "$(grep -e '^-[EWI]-' <<<"$said")"
		bad=1
	fi
done
said=$(opinion sssp ring-5)
if ! grep -q "Found credit loop" <<<"$said" || grep -q "no credit loops found" <<<"$said"; then
	printf 'ibdmchk finds no credit loop in a ring routed on one lane:\n%s\n' "$said"
	bad=1
fi
[ $bad -eq 0 ] && echo "ibdmchk agrees"
exit $bad
