#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# completion.sh OSMROUTES COMPLETION: what bash would offer, against what the command itself says.
set -u
command=$1
# shellcheck source=/dev/null
. "$2" || exit 1
osmroutes() { "$command" "$@"; }
failed=0

# offered LINE: what completion offers at the end of LINE, sorted, on one line
offered() {
	local COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
	_osmroutes 2>/dev/null
	printf '%s\n' "${COMPREPLY[@]:-}" | sort | tr '\n' ' '
}

# expect LINE WORDS: these, in any order, and nothing else
expect() {
	local want got
	want=$(printf '%s\n' $2 | sort | tr '\n' ' ')
	got=$(offered "$1")
	if [ "$got" != "$want" ]; then
		printf '"%s": offered "%s", expected "%s"\n' "$1" "$got" "$want"
		failed=1
	fi
}

commands=$("$command" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
engines=$("$command" conf --list | grep -E '^[a-z]')
[ -n "$commands" ] && [ -n "$engines" ] || { echo "the command lists nothing"; exit 1; }
expect 'osmroutes ' "$commands help version --help --version"
expect 'osmroutes help ' "$commands"
expect 'osmroutes rou' route
expect 'osmroutes route -e ' "$engines all"
expect 'osmroutes route --engine=dfs' dfsssp
expect 'osmroutes route -e ss' sssp
for name in $commands; do
	# Those of all commands, and its own; without an optional value's "[=".
	long=$({ "$command" --help; "$command" "$name" --help; } |
		grep -oE '^(      |  -[a-zA-Z?], )--[A-Za-z][a-z0-9-]*(=|\[=|)' | grep -oE -- '--.*' |
		sed 's/^--csv\[=/--csv=/; s/\[=$//')
	expect "osmroutes $name --" "$long"
done
for engine in $engines; do
	options=$("$command" conf --list | sed -n "/^$engine\$/,/^\$/s/^    \([a-z][a-z_0-9]*=\).*/\1/p")
	expect "osmroutes route -e $engine -o " "$options"
done
expect 'osmroutes route -e dfsssp -o heuristic=o' 'order online'
expect 'osmroutes route -o detours=' 'yes no'
expect 'osmroutes generate hyper' 'hypercube hyperx'
expect 'osmroutes key ' 'job place request done status withdraw'
expect 'osmroutes whatif --each=l' link
expect 'osmroutes whatif --ea' '--each='
expect 'osmroutes check --require=' 'any-sl deadlock-free minimal replies sl0 switches'
expect 'osmroutes generate torus d' 'dims='
expect 'osmroutes generate torus dims=4x4 twice=' 'yes no'
cd "$(dirname "$0")" || exit 1
expect 'osmroutes route compl' completion.sh
[ $failed -eq 0 ] && echo "completion as the command has it"
exit $failed
