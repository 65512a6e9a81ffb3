#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The command routes a file as the plugin routes the same fabric inside OpenSM: the dumps `osmroutes
# route --dump` writes are, byte for byte, those of a stock opensm that runs the plugin under ibsim.
set -eu
command=$1 root=$2 plugin=$3
opensm=${OSR_OPENSM:-opensm}
for tool in "$opensm" ibsim ibsim-run; do
	command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ -e "$plugin/libosmroutes.so" ] || { echo "skipped: no libosmroutes.so"; exit 77; }

dir=$(mktemp -d)
sim=
cleanup() {
	[ -z "$sim" ] || { kill "$sim" 2>/dev/null; wait "$sim" 2>/dev/null; } || true
	rm -rf "$dir"
}
trap cleanup EXIT
export IBSIM_SOCKNAME=osr-same-as-live-$$

# live FILE LMC: opensm with the plugin, one sweep, its dumps in $dir/live.
live() {
	rm -rf "$dir/live" && mkdir "$dir/live"
	mkfifo "$dir/live/console"
	timeout -k 5 60 ibsim -s -n "$1" <> "$dir/live/console" > "$dir/live/ibsim.log" 2>&1 &
	sim=$!
	for _ in $(seq 100); do
		grep -q "simulator ready" "$dir/live/ibsim.log" && break
		sleep 0.1
	done
	printf 'lmc %s\nqos TRUE\nevent_plugin_name osmroutes\n' "$2" > "$dir/live/conf"
	# OSR_PRELOAD: a sanitizer's runtime (scripts/sanitize); opensm is built without.
	OSM_TMP_DIR=$dir/live OSM_CACHE_DIR=$dir/live LD_LIBRARY_PATH=$plugin:${LD_LIBRARY_PATH:-} timeout -k 5 60 \
		ibsim-run sh -c 'LD_PRELOAD="$LD_PRELOAD${OSR_PRELOAD:+:$OSR_PRELOAD}" exec "$0" "$@"' "$opensm" -o -F "$dir/live/conf" -R dfsssp -f "$dir/live/log" -D 0x43 \
		> "$dir/live/out" 2>&1
	kill "$sim" 2>/dev/null
	wait "$sim" 2>/dev/null || true
	sim=
	grep -q "osmroutes: dfsssp: .* hosts on" "$dir/live/log"
}

# What switches hold for ports that are down is unknown to the plugin, which writes VLs 13 and 14 (slvl.c).
known() {
	awk 'NR == FNR { unknown[FNR] = /: 13 14 13 14/; next } !unknown[FNR]' "$dir/live/$1" "$2/$1"
}

# compare FILE LMC NAME...
compare() {
	local file=$1 lmc=$2 name
	shift 2
	live "$file" "$lmc"
	"$command" route "$file" --lmc="$lmc" --dump "$dir/own" > /dev/null
	for name; do
		cmp <(known "$name" "$dir/own") <(known "$name" "$dir/live") || { echo "differs: $file, LMC $lmc"; exit 1; }
	done
}

for name in tree-2 tree-3 ring-5 torus-4x4 dragonfly-12 kautz-2-2 random-12 parallel \
	    bare-switches dual-port cluster-192; do
	compare "$root/topologies/$name.net" 0 opensm-lfts.dump opensm.fdbs opensm-sl2vl.dump \
		opensm-subnet.lst
done
for name in tree-2 dragonfly-12 dual-port; do
	compare "$root/topologies/$name.net" 2 opensm-lfts.dump opensm.fdbs opensm-sl2vl.dump
done
echo "offline and inside OpenSM: the same tables"
