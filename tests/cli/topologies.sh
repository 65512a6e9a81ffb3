#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Makes every generated fabric of topologies/ again, by the commands in its head, and compares bytes.
set -eu -o pipefail
command=$1 root=$2
n=0
for file in "$root"/topologies/*.net; do
	# Leading lines "# osmroutes ..." are the stages of a pipe.
	pipe=$(sed -n '/^# osmroutes /!q; s/^# osmroutes //p' "$file" |
	       sed "s|^|\"$command\" |" | paste -sd '|')
	[ -n "$pipe" ] || continue
	if ! cmp <(bash -o pipefail -c "$pipe" 2>/dev/null) "$file"; then
		echo "not the same: $file"
		exit 1
	fi
	n=$((n + 1))
done
echo "$n fabrics are what their commands make"
[ "$n" -ge 11 ]
