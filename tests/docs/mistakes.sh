#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# mistakes.sh OSMROUTES PROJECT: makes mistakes in a copy of the project, and expects the checks docs,
# text or names to name each of them.
set -u
command=$1 project=$2
copy=$(mktemp -d)
said=$copy.said
trap 'rm -rf "$copy" "$said"' EXIT
failed=0

tar -C "$project" --exclude=__pycache__ -cf - README.md LICENSE CMakeLists.txt docs engines \
	include scripts src tests/checks tests/engines topologies | tar -xf - -C "$copy"

complain() {
	printf '%s\n' "$*"
	failed=1
}

# change FILE EXPRESSION: by sed
change() {
	sed -i "$2" "$copy/$1"
	! cmp -s "$copy/$1" "$project/$1" || complain "nothing to change in $1: $2"
}

# judge CHECK: it fails; what it says is kept for says()
judge() {
	if [ "$1" = docs ]; then
		"$copy/scripts/check" docs "$command" >"$said" 2>&1
	elif [ "$1" = names ]; then
		"$copy/scripts/check" names >"$said" 2>&1
	else
		"$copy/scripts/check" text "$copy" >"$said" 2>&1
	fi && complain "the check $1 sees no mistake"
}

says() {
	grep -qF -- "$1" "$said" || complain "not said: \"$1\", but: $(cat "$said")"
}

change docs/osmroutes.conf.5.md '/^| `detours`/d'
change docs/osmroutes.conf.5.md 's/^| `rebalance` | `120`/| `rebalance` | `300`/'
change docs/osmroutes.conf.5.md 's/^| `step`.*/&\n| `speed` | `7` | 0..9 | | p2sssp |/'
change docs/engine-guide.md 's/n_longer = example_route_all/n_longer -= example_route_all/'
change docs/output.tsv '/\tefi_per_capacity\t/d'
change docs/output.tsv 's/^conf\tengine_options\tvalues/conf\tengine_options\tchoices/'
touch "$copy/include/osmroutes/teleport.h"
echo 'See [there](nowhere.md) and [here](CONTRIBUTING.md#nothing).' >>"$copy/docs/testing.md"
change src/conf/options.c 's/out of memory for the limits/no memory, please/; s/cannot open the file/somebody took the file/'
echo 'A look at the moment between.' >>"$copy/docs/admin.md"
change engines/sssp/sssp.c 's/^ \* sssp - /&WHAT IT DOES, /'
change docs/dmodk.md 's/^Reference: /&AUTHORS: TITLE, /'
judge docs
says 'engines/sssp/sssp.c: "WHAT IT DOES" is to be replaced'
says 'docs/dmodk.md: "AUTHORS: TITLE" is to be replaced'
says 'docs/osmroutes.conf.5.md: does not have option detours of dfsssp'
says 'docs/osmroutes.conf.5.md: rebalance of sssp: the page says default 300'
says 'docs/osmroutes.conf.5.md: has option speed, which p2sssp does not know'
says 'docs/engine-guide.md: this is not in'
says 'docs/output.tsv: route, results: field efi_per_capacity is None in the page and real'
says 'docs/output.tsv: conf, engine_options: field values is None in the page and text'
says 'docs/output.tsv: conf, engine_options: there is no field choices'
says 'does not mention include/osmroutes/teleport.h'
says 'links to nowhere.md, which does not exist'
says 'links to CONTRIBUTING.md#nothing, which has no such heading'
says 'src/conf/options.c: idiom: "somebody"'
says 'docs/admin.md: idiom: "moment"'

change docs/osmroutes.conf.5.md 's/^| `rebalance` | `300` | 0..100000/| `rebalance` | `120` | 0..10/'
change docs/engines.md 's/^# p2sssp/# p3sssp/'
judge docs
says 'docs/osmroutes.conf.5.md: rebalance of sssp: the page says default 120, values 0..10'
says 'docs/p2sssp.md: is missing'

change src/core/data/arena.c 1d
printf '/* %s: think */\n' 'TO''DO' >>"$copy/src/core/data/fabric.c"
printf 'See %s.\n' '/wo''rk/x' >>"$copy/docs/CONTRIBUTING.md"
printf 'int x; \n' >>"$copy/src/core/data/params.c"
printf 'the end' >>"$copy/docs/theory.md"
change src/core/data/carry.h 's/OpenIB/MIT/'
printf '# 9.8.7\n' >>"$copy/scripts/demo"
change CMakeLists.txt 's/VERSION [0-9.]* /VERSION 9.8.7 /'
judge text
says 'src/core/data/arena.c: no SPDX-License-Identifier'
says 'unfinished work'
says "a path of somebody's machine"
says 'blanks at the end of the line'
says 'docs/theory.md: no newline at the end'
says 'Linux-MIT */": another licence'
says 'the version, which stands in CMakeLists.txt alone'
if command -v ctags >/dev/null; then
	printf 'static uint32_t %s(uint32_t *of, uint32_t k)\n{\n\twhile (of[k] != k) {\n\t\tosr_invariant(of[k] < k);\n\t\tk = of[k] = of[of[k]];\n\t}\n\treturn k;\n}\n' \
		root_of >>"$copy/src/io/net.c"
	judge names
	says 'the same body: include/osmroutes/set.h:osr_set_of, src/io/net.c:root_of'
fi
exit $failed
