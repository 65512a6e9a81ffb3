#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# new-engine.sh PROJECT: scripts/new-engine in a copy of the project. What it writes must pass the tests of
# names and rooms, stand in every list, and be refused a second time; engines.template holds its code to the promises.
set -eu
project=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$project"
tar cf - --exclude=./build --exclude=./.git . | tar xf - -C "$dir"
cd "$dir"
scripts/new-engine trial-x >said
grep -q 'engines/trial-x/trial-x.c' said
grep -qE '^set\(OSR_ENGINES .* trial-x\)$' engines/CMakeLists.txt
grep -qF ', [trial-x](trial-x.md), and [osmroutes](engines.md#osmroutes), which chooses;' docs/architecture.md
[ "$(grep -c '| dfsssp trial-x ' docs/osmroutes.conf.5.md)" = 2 ]
grep -q 'trial-x' docs/CHANGELOG.md
grep -q '^const struct osr_engine osr_engine_trial_x = {$' engines/trial-x/trial-x.c
if grep '@' engines/trial-x/trial-x.c; then	# "! grep" alone would not end the script
	exit 1
fi
scripts/check layers
scripts/check names
for name in trial-x sssp Bad/Name ''; do
	if scripts/new-engine "$name" >said 2>&1; then
		echo "new-engine took \"$name\""
		exit 1
	fi
	grep -q '^new-engine: ' said
done
echo 'a new engine is in every list'
