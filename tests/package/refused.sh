#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# refused.sh PROJECT BUILD CMAKE: a plugin built for another OpenSM version is refused in a sentence, and
# OpenSM's own engines route. The other version's headers are this one's with another number in
# osm_version.h, which is all that OpenSM looks at.
set -eu
project=$1 build=$2 cmake=$3
for tool in opensm ibsim ibsim-run; do
	command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
include=$(sed -n 's/^OSR_OPENSM_INCLUDE:[A-Z]*=//p' "$build/CMakeCache.txt")
mkdir -p "$dir/prefix/include" "$dir/prefix/lib"
cp -r "$include" "$dir/prefix/include/infiniband"
for library in OPENSM OSMCOMP; do
	ln -s "$(sed -n "s/^OSR_${library}_LIBRARY:[A-Z]*=//p" "$build/CMakeCache.txt")" "$dir/prefix/lib/"
done
sed -i 's/"OpenSM .*"/"OpenSM 3.3.99"/' "$dir/prefix/include/infiniband/opensm/osm_version.h"
{
	"$cmake" -S "$project" -B "$dir/b" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O0 -DOSR_TESTS=OFF -DOSR_LIVE=OFF -DOSR_MANUAL=OFF \
		-DOSR_OPENSM_PREFIX="$dir/prefix" && "$cmake" --build "$dir/b" --target osmroutes_plugin
} >"$dir/log" 2>&1 || { tail -20 "$dir/log"; exit 1; }
grep -q 'OpenSM 3.3.99' "$dir/log" || { echo "CMake did not see the version"; exit 1; }

OSR_BUILD=$dir/b python3 -B - "$project" "$dir" <<'PYTHON'
import os, sys
sys.path.insert(0, os.path.join(sys.argv[1], 'tests/osm'))
from osmtest import Fabric, Opensm, find_fabric
with Fabric(find_fabric('ring-5'), os.path.join(sys.argv[2], 'w')) as fabric:
    with Opensm(fabric, 'dfsssp', plugin=True, options={'qos': 'TRUE'}) as opensm:
        opensm.wait_up()
    said = [l for l in opensm.log.splitlines() if 'osmroutes' in l and 'version mismatch' in l]
    assert said and '3.3.99' in said[0], opensm.log[-500:]
    assert 'digest' not in opensm.log and opensm.engine_used() == 'dfsssp', 'who routed?'
    print(said[0])
PYTHON
