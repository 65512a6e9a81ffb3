#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# mistakes.sh OSMROUTES PROJECT: on a copy of the project, makes one mistake after the other and
# expects check-docs or check-text to name it.
set -u
command=$1 project=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
failed=0

fresh() {
	rm -rf "${copy:?}"/*
	tar -C "$project" --exclude=__pycache__ -cf - README.md LICENSE CMakeLists.txt docs engines \
		include scripts src tests/engines topologies | tar -xf - -C "$copy"
}

# expect CHECK WORDS: the check fails, and says these words
expect() {
	local out
	if [ "$1" = docs ]; then
		out=$("$copy/scripts/check-docs" "$command" 2>&1)
	else
		out=$("$copy/scripts/check-text" "$copy" 2>&1)
	fi
	if [ $? -eq 0 ] || ! printf '%s\n' "$out" | grep -qF -- "$2"; then
		printf 'check-%s does not say "%s", but:\n%s\n' "$1" "$2" "$out"
		failed=1
	fi
}

fresh
sed -i '/^| `detours`/d' "$copy/docs/dfsssp.md"
expect docs 'docs/dfsssp.md: does not have option detours'
fresh
sed -i 's/^| `rounds` | `2`/| `rounds` | `3`/' "$copy/docs/sssp.md"
expect docs 'docs/sssp.md: rounds: the page says default 3'
fresh
sed -i 's/^| `rounds` | `2` | 0..1000/| `rounds` | `2` | 0..10/' "$copy/docs/sssp.md"
expect docs 'docs/sssp.md: rounds: the page says default 2, values 0..10'
fresh
sed -i 's/^| `rounds`.*/&\n| `speed` | `7` | 0..9 | |/' "$copy/docs/p2sssp.md"
expect docs 'docs/p2sssp.md: has option speed, which the engine does not know'
fresh
rm "$copy/docs/p2sssp.md"
expect docs 'docs/p2sssp.md: is missing'
fresh
sed -i 's/route -e sssp topologies/route -e ssp topologies/' "$copy/docs/sssp.md"
expect docs '"osmroutes route -e ssp topologies/tree-3.net" says'
fresh
sed -i 's/u->trees = osr_calloc/u->trees = osr_alloc/' "$copy/docs/engine-guide.md"
expect docs 'docs/engine-guide.md: this is not in'
fresh
sed -i '/\tefi_per_capacity\t/d' "$copy/docs/output.tsv"
expect docs 'docs/output.tsv: route, engines: field efi_per_capacity is None in the page and real'
sed -i 's/^engines\toptions\tvalues/engines\toptions\tchoices/' "$copy/docs/output.tsv"
expect docs 'docs/output.tsv: engines, options: field values is None in the page and text'
expect docs 'docs/output.tsv: engines, options: there is no field choices'
fresh
touch "$copy/include/osmroutes/teleport.h"
expect docs 'does not mention include/osmroutes/teleport.h'
fresh
echo 'See [there](nowhere.md) and [here](style.md#nothing).' >>"$copy/docs/testing.md"
expect docs 'links to nowhere.md, which does not exist'
expect docs 'links to style.md#nothing, which has no such heading'

fresh
sed -i 's/out of memory for the limits/no memory, please/; s/cannot open the file/somebody took the file/' "$copy/src/conf/options.c"
echo 'A look at the moment between.' >>"$copy/docs/admin.md"
expect docs 'src/conf/options.c: idiom: "somebody"'
expect docs 'docs/admin.md: idiom: "moment"'

fresh
sed -i 1d "$copy/src/core/data/arena.c"
expect text 'src/core/data/arena.c: no SPDX-License-Identifier'
fresh
printf '/* %s: think */\n' 'TO''DO' >>"$copy/src/core/data/arena.c"
expect text 'unfinished work'
fresh
printf 'See %s.\n' '/wo''rk/x' >>"$copy/docs/style.md"
expect text "a path of somebody's machine"
fresh
printf 'int x; \n' >>"$copy/src/core/data/arena.c"
expect text 'blanks at the end of the line'
fresh
printf 'the end' >>"$copy/docs/style.md"
expect text 'docs/style.md: no newline at the end'
exit $failed
