#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# prefix.sh PROJECT BUILD CMAKE: with OSR_OPENSM_PREFIX the plugin is compiled with the headers installed there.
# What is installed under another prefix than /usr stays in there. The headers are this OpenSM's with another number in osm_version.h; that OpenSM refuses what comes of it is
# osm.beside.version.
set -eu
project=$1 build=$2 cmake=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
include=$(sed -n 's/^OSR_OPENSM_INCLUDE:[A-Z]*=//p' "$build/CMakeCache.txt")
mkdir -p "$dir/prefix/include" "$dir/prefix/lib"
if [ -e "$build/manual/osmroutes.conf" ]; then
	"$cmake" --install "$build" --prefix "$dir/elsewhere" >"$dir/log"
	cmp "$build/manual/osmroutes.conf" "$dir/elsewhere/etc/opensm/osmroutes.conf"
fi
# A program finds libosrkeys there by its .pc file.
if pc=$(find "$dir/elsewhere" -name libosrkeys.pc 2>>"$dir/log") && [ -n "$pc" ]; then
	printf '#include <osmroutes/keyclient.h>\nint main(void) { return !osrk_error((struct osrk *)0); }\n' >"$dir/program.c"
	# shellcheck disable=SC2046
	cc "$dir/program.c" -o "$dir/program" $(PKG_CONFIG_PATH=${pc%/*} pkg-config --cflags --libs libosrkeys)
fi
cp -r "$include" "$dir/prefix/include/infiniband"
for library in OPENSM OSMCOMP; do
	ln -s "$(sed -n "s/^OSR_${library}_LIBRARY:[A-Z]*=//p" "$build/CMakeCache.txt")" "$dir/prefix/lib/"
done
sed -i 's/"OpenSM .*"/"OpenSM 3.3.99"/' "$dir/prefix/include/infiniband/opensm/osm_version.h"
plugin=src/osm/CMakeFiles/osmroutes_plugin.dir
{
	"$cmake" -S "$project" -B "$dir/b" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DOSR_TESTS=OFF -DOSR_LIVE=OFF \
		-DOSR_MANUAL=OFF -DOSR_OPENSM_PREFIX="$dir/prefix" && ninja -C "$dir/b" $plugin/plugin.c.o
} >"$dir/log" 2>&1 || { tail -20 "$dir/log"; exit 1; }
grep -q 'OpenSM 3.3.99' "$dir/log" || { echo "CMake did not see the version"; exit 1; }
grep -q 'OpenSM 3.3.99' "$dir/b/$plugin/plugin.c.o" || { echo "compiled with other headers"; exit 1; }
