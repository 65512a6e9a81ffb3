#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Exit codes, and the first line of what is said: on stdout where it is the answer, else on stderr.
set -u
command=$1 root=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
# expect CODE PATTERN WORD...: the command ends with CODE and says PATTERN (an extended regex).
expect() {
	local code=$1 pattern=$2 out rc
	shift 2
	out=$("$command" "$@" 2>&1)
	rc=$?
	if [ $rc -ne "$code" ] || ! grep -qE "$pattern" <<<"$out"; then
		printf 'osmroutes %s: exit %s, expected %s and /%s/; it said:\n%s\n' "$*" $rc "$code" \
			"$pattern" "$out"
		bad=1
	fi
}

expect 2 '^Usage: osmroutes COMMAND'
expect 0 '^Usage: osmroutes COMMAND' --help
expect 0 '^Usage: osmroutes COMMAND' -h
expect 0 '^Usage: osmroutes COMMAND' help
for word in $("$command" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
	"$command" "$word" --help | grep -nE '^ +$' && { echo "$word --help has empty lines"; bad=1; }
	for ask in "$word -h" "help $word" "--help $word" "-h $word"; do
		cmp -s <("$command" $ask) <("$command" "$word" --help) || { echo "$ask is not $word --help"; bad=1; }
	done
done
for word in version --version -V; do expect 0 '^osmroutes [0-9]' $word; done
expect 2 'no command "rout"' rout
expect 0 'deadlock-free' conf --list
expect 2 'list reads no file: "foo"' conf --list foo
expect 0 '^engine,' conf --list --csv
expect 0 'Kinds of fabrics' generate --help
expect 2 'missing kind of fabric' generate
expect 2 'no kind of fabric is called "donut"' generate donut
expect 2 'unknown option "dim": did you mean "dims"' generate torus dim=4
expect 2 'expected NAME=VALUE' generate torus 4x4
expect 2 'rate "4xFAST"' generate torus --rate=4xFAST
expect 2 'needs 9 ports, not 8' generate kary --ports=8 --mgmt
expect 2 '/nonexistent/x: No such file' generate torus -o /nonexistent/x
expect 2 '"p=1,1,1" is an option of tree: write it without -o' generate tree -o p=1,1,1
expect 2 '"dims=4x4" is an option of torus: write it without -o' generate -o dims=4x4 torus
expect 0 '^Switch' generate torus dims=3 --rate=4xEDR
expect 2 'analyze is now osmroutes route' analyze
expect 2 'minhop is an engine of OpenSM itself: --tables=DIR' route -e minhop "$root/topologies/ring-5.net"
expect 2 '"threads" is no option of dfsssp: it goes into osmroutes.conf' route -o threads=2 "$root/topologies/ring-5.net"
expect 2 '"max_vls = 99": expected a number' route -o max_vls=99 "$root/topologies/ring-5.net"
expect 2 'unknown option "roundz"' route -o roundz=1 "$root/topologies/ring-5.net"
expect 2 'bisections "-1": expected 0' route --bisections=-1 "$root/topologies/ring-5.net"
expect 2 'README.md:3: neither an entry nor a head line' route --tables "$root/topologies/README.md" "$root/topologies/ring-5.net"
printf 'Unicast lids [0-9] of switch Lid 1 guid 0x0000000000000042 (x):\n' > "$dir/other.lfts"
printf 'Unicast lids [0-9] of switch Lid 1 guid 0x0000000000200000 (x):\n0x0777 001\n' > "$dir/lid.lfts"
expect 2 'other.lfts:1: the fabric has no switch 0x0*42' route --tables "$dir/other.lfts" "$root/topologies/tree-2.net"
expect 2 'lid.lfts:2: no port in the fabric has LID 1911' route --tables "$dir/lid.lfts" "$root/topologies/tree-2.net"
expect 1 'verdict refuted: switch leaf-0 has no entry for LID 2 .h00.' route --tables <(head -1 "$dir/lid.lfts") "$root/topologies/tree-2.net"
expect 0 'effective bisection bw +[01]' route "$root/topologies/ring-5.net"
expect 0 '^0 random bisections from seed 1' route --bisections=0 "$root/topologies/ring-5.net"
expect 2 'multicast=14: the links have the virtual lanes 0 to 1' route --multicast=14 --vls=2 "$root/topologies/ring-5.net"
expect 2 'require "": no requirement' check --require= "$root/topologies/ring-5.net"
expect 2 'for tables of engines and of --live' route --tables "$dir/lid.lfts" --save="$dir/save" "$root/topologies/tree-2.net"
expect 2 'threads "0": expected 1' route --threads=0 "$root/topologies/ring-5.net"
printf 'h1\nh0 # the second\n\n0x0\n' > "$dir/hosts"
expect 2 'hosts:4: no end port has the GUID 0x0*0' route --hosts "$dir/hosts" "$root/topologies/ring-5.net"
printf 'lid:010\nlid:0x0a\n' > "$dir/hosts"
expect 2 'hosts:2: "lid:0x0a" is in the list already' route --hosts "$dir/hosts" "$root/topologies/cluster-192.net"
expect 0 '^# osmroutes whatif' whatif --write=- --seed=010 --links=1 "$root/topologies/ring-5.net"
cmp -s <("$command" whatif --write=- --seed=010 --links=1 "$root/topologies/torus-4x4.net" 2>"$dir/said" | grep -v "^#") \
	<("$command" whatif --write=- --seed=10 --links=1 "$root/topologies/torus-4x4.net" 2>"$dir/said" | grep -v "^#") ||
	{ echo 'seed 010 is not 10'; bad=1; }
expect 2 'save is given twice: "x" and "y"' route --save=x --save=y "$root/topologies/ring-5.net"
expect 2 'null: no host' route --hosts=/dev/null "$root/topologies/ring-5.net"
expect 2 'seed "-1": expected 0 to' whatif --write="$dir/left.net" --seed=-1 --links=1 "$root/topologies/ring-5.net"
printf 'h1\n"h1"\n' > "$dir/hosts"
expect 2 'hosts:2: "h1" is in the list already' route --hosts "$dir/hosts" "$root/topologies/ring-5.net"
printf 'h1\nnobody\n' > "$dir/hosts"
expect 2 'hosts:2: no end port is called "nobody"' route --hosts "$dir/hosts" "$root/topologies/ring-5.net"
printf 'phase\nh0 h1\nh2\n' > "$dir/traffic"
expect 2 'traffic:3: expected "phase", or who sends' route --traffic "$dir/traffic" "$root/topologies/ring-5.net"
printf 'phase\nh0 h0\n' > "$dir/traffic"
expect 2 'traffic:2: "h0" sends to itself' route --traffic "$dir/traffic" "$root/topologies/ring-5.net"
printf 'ranks 3\n0 3\n' > "$dir/traffic"
expect 2 'traffic:2: "3" is no rank from 0 to 2' route --traffic "$dir/traffic" "$root/topologies/ring-5.net"
printf 'ranks 11\n0 3\n' > "$dir/traffic"
expect 2 '11 ranks do not fit on 5 hosts' route --traffic "$dir/traffic" "$root/topologies/ring-5.net"
printf '# nothing\nphase\n' > "$dir/traffic"
expect 2 'it has no pairs' route --traffic "$dir/traffic" "$root/topologies/ring-5.net"
printf 'phase\nlid:77 h0\n' > "$dir/traffic"
expect 2 'no end port has the LID 77' route --traffic "$dir/traffic" "$root/topologies/ring-5.net"
expect 2 'say which tables to check: .*--tables=FILE' check "$root/topologies/tree-2.net"
expect 2 'opensm-subnet.lst: No such file' check "$root/topologies"
expect 2 'lid.lfts:2: no port in the fabric has LID 1911' check --tables "$dir/lid.lfts" "$root/topologies/tree-2.net"
expect 0 'verdict between hosts +proven' route -e dfsssp "$root/topologies/torus-4x4.net" --dump "$dir/torus" --ibdmchk
expect 0 'no answer includes multicast' check "$dir/torus"
expect 0 'independent checker +agrees' check --tables "$dir/torus" "$root/topologies/torus-4x4.net"
expect 0 '"verdict": "proven"' check --tables "$dir/torus/opensm.fdbs" --sl 0 "$dir/torus" --json
expect 1 'one-way traffic can deadlock' route -e sssp "$root/topologies/torus-4x4.net" --dump "$dir/sssp" --ibdmchk
expect 1 'one-way traffic can deadlock: credit loop of 4 channels' check "$dir/sssp"
expect 1 'independent checker +not asked' check "$dir/sssp"
# 16 switches times 32 LIDs, but for the one entry there is.
expect 1 '^hole: 10 of 511 are listed' check --tables <(head -2 "$dir/torus/opensm-lfts.dump") "$root/topologies/torus-4x4.net"
# with FILE NAME: the dumps of the torus, with this one in place of one of them.
with() { rm -rf "$dir/with"; cp -r "$dir/torus" "$dir/with"; cp "$1" "$dir/with/$2"; }
head -c 3000 "$dir/torus/opensm-lfts.dump" > "$dir/cut.lfts"
expect 2 'cut.lfts:[0-9]+: the file ends in the middle of a line' check --tables "$dir/cut.lfts" "$dir/torus"
head -40 "$dir/torus/opensm-lfts.dump" > "$dir/short.lfts"
expect 2 'short.lfts:40: the file ends before the table' check --tables "$dir/short.lfts" "$dir/torus"
head -c 4096 /dev/zero > "$dir/zero"
expect 2 'zero:1: ' check --tables "$dir/zero" "$dir/torus"
sed 's/^0x0003 0../0x0003 077/' "$dir/torus/opensm-lfts.dump" > "$dir/port.lfts"
expect 2 'port.lfts:[0-9]+: port 77 exceeds' check --tables "$dir/port.lfts" "$dir/torus"
sed 's/ 1  2  3 / 1  99 3 /' "$dir/torus/opensm-sl2vl.dump" > "$dir/vl.dump"
with "$dir/vl.dump" opensm-sl2vl.dump
expect 2 'opensm-sl2vl.dump:[0-9]+: expected "IN OUT : "' check "$dir/with"
sed 's/: 0$/: 16/' "$dir/torus/opensm-path-sl.dump" > "$dir/sl.dump"
with "$dir/sl.dump" opensm-path-sl.dump
expect 2 'opensm-path-sl.dump:[0-9]+: expected "0xGUID LID SL"' check "$dir/with"
printf 'Switch 0x0000000000200000\nLID    : Out Port(s)\n0xC000 : 0x999\n' > "$dir/mc.fdbs"
with "$dir/mc.fdbs" opensm.mcfdbs
expect 2 'opensm.mcfdbs:3: port 2457 exceeds' check "$dir/with"
with /dev/null opensm-lfts.dump
expect 2 'opensm-lfts.dump: holds no table' check "$dir/with"
sed '3s/PN:../PN:7F/' "$dir/torus/opensm-subnet.lst" > "$dir/subnet.lst"
expect 2 'subnet.lst:3: expected PN:' route "$dir/subnet.lst"
expect 2 'OLD and NEW' diff "$dir/torus"
expect 0 'during the transition +proven' diff --same "$dir/torus" "$dir/torus"
expect 0 'OLD and NEW are one: .*/torus$' diff "$dir/torus" "$dir/../$(basename "$dir")/torus"
expect 0 'OLD and NEW are one: ' diff "$root/topologies/tree-2.net" "$root/topologies/tree-2.net"
expect 1 'during the transition +refuted' diff "$dir/torus" "$dir/sssp"
cp -r "$dir/torus" "$dir/edited"
# LID 5 is a host's, LID 3 the port 0 of a switch: hosts work without that.
sed -i '0,/^0x0005 /{/^0x0005 /d}' "$dir/edited/opensm-lfts.dump"
cp -r "$dir/torus" "$dir/in-band"
sed -i '0,/^0x0003 /{/^0x0003 /d}' "$dir/in-band/opensm-lfts.dump"
expect 1 '"entries_changed": 1,' diff --json "$dir/torus" "$dir/edited"
expect 1 '"new": "refuted"' diff --json "$dir/torus" "$dir/edited"
expect 1 'between hosts: verdict on the old +refuted' diff --same "$dir/edited" "$dir/torus"
expect 0 'between hosts: verdict on the old +refuted' diff "$dir/edited" "$dir/torus"
expect 1 'hole +switch .* has no entry for LID 5' check "$dir/edited"
expect 0 'with switches: verdict on the old +refuted' diff "$dir/in-band" "$dir/torus"
expect 0 'with switches: verdict on the old +proven' diff "$dir/torus" "$dir/in-band"
for words in check "route --tables=$dir/in-band" "check --require=deadlock-free,replies"; do
	for pattern in '^verdict between hosts +proven' '^verdict with switches +refuted' \
		       'with packets to and from port 0 of switches: verdict refuted: switch .* has no entry for LID 3'; do
		expect 0 "$pattern" $words "$dir/in-band"
	done
done
expect 1 'switches +no +refuted: switch .* has no entry for LID 3' check --require=switches "$dir/in-band"
expect 0 'switches +yes +proven' check --require=switches "$dir/torus"
expect 2 '^osmroutes: .*/nofile: No such file' diff "$dir/nofile" "$root/topologies/ring-5.net"
expect 2 'no fabric: expected' diff "$dir/torus" "$root/topologies"
expect 2 'ring-5.net is a fabric, .*torus holds tables' diff "$dir/torus" "$root/topologies/ring-5.net"
expect 2 'sl is for tables that are read' check -e sssp --sl=1 "$root/topologies/ring-5.net"
expect 2 'ibdmchk is for --dump' route --ibdmchk "$root/topologies/ring-5.net"
expect 2 'either a switch or cable, .*or --all' undrain --all leaf-0
expect 1 'dmodk: not a fat tree' route -e dfsssp -e dmodk --bisections=9 "$root/topologies/ring-5.net"
expect 0 'recommended here: dfsssp, verdict proven' route -e all --bisections=9 "$root/topologies/ring-5.net"
expect 2 'cannot|No such|exist' route --save /nowhere/x "$root/topologies/ring-5.net"
expect 2 'nothing to remove' whatif "$root/topologies/ring-5.net"
expect 2 'either --link' whatif --each=link --links=1 "$root/topologies/ring-5.net"
expect 2 'each "cable": expected link' whatif --each=cable "$root/topologies/ring-5.net"
# Devices that never end, and what is wrong with the whole of a file.
expect 2 '/dev/zero:1: a byte 0' route /dev/zero
expect 2 '/dev/zero:1: a byte 0' route --hosts=/dev/zero "$root/topologies/ring-5.net"
expect 2 '/dev/zero:1: a byte 0' route --traffic=/dev/zero "$root/topologies/ring-5.net"
expect 2 ':1: a line of more' check --tables=<(yes | tr -d '\n') "$root/topologies/ring-5.net"
expect 2 'diff has no option --sa: did you mean --same\?' diff old --live --sa=none
expect 2 'check has no option --tab: did you mean --tables\?' check --tab=x "$root/topologies/ring-5.net"
expect 2 'route has no option --engin: did you mean --engine\?' route --engin dfsssp "$root/topologies/ring-5.net"
expect 2 'junit needs a value: --junit=FILE' check "$root/topologies/ring-5.net" --junit
expect 2 'same takes no value: "yes"' diff --same=yes "$root/topologies/ring-5.net"
expect 0 'verdict' route -edfsssp -- "$root/topologies/ring-5.net"
expect 2 '^osmroutes: -x: No such file' route -- -x
expect 2 'whatif has no option --tables' whatif --each=link --tables=x "$root/topologies/ring-5.net"
expect 2 'no switch is called "nobody"' whatif --switch=nobody "$root/topologies/ring-5.net"
expect 2 'expected NODE:PORT' whatif --link=h0 "$root/topologies/ring-5.net"
expect 2 'there is no cable' whatif --link=h0:9 "$root/topologies/ring-5.net"
expect 2 '"h0" is an end port' whatif --switch=h0 "$root/topologies/ring-5.net"
expect 0 'proven +8 +0 +0' whatif --link=h0:1 --max=0 "$root/topologies/ring-5.net"
printf '0x100000 "alpha mlx5_0"\n# no host\n' >"$dir/names"
printf '0x100000 alpha\n' >"$dir/no-names"
expect 0 '^rank 7=h3 slot=1$' order --format=rankfile --slots=2 "$root/topologies/tree-3.net"
expect 0 '^rank 14=h4 slot=2$' order --format=rankfile --slots=3 "$root/topologies/tree-3.net"
expect 0 'each host is listed once: ranks' order --hosts=h0:3,h1 "$root/topologies/tree-3.net"
expect 0 '^alpha$' order --names="$dir/names" "$root/topologies/tree-3.net"
expect 0 '^SwitchName=tree0-level3-0 Switches=tree0-level2-0,tree0-level2-1$' \
	order --format=slurm-topology "$root/topologies/tree-3.net"
[ "$("$command" order --hosts=h0 "$root/topologies/tree-3.net" 2>&1 | grep -c shift)" = 0 ] || { echo 'one host shifts'; bad=1; }
expect 0 'fat tree of 3 levels, PGFT.3;2,2,2;1,2,2;1,1,1., 8 of 8 hosts' order "$root/topologies/tree-3.net"
expect 1 'both lie next to hosts' order "$root/topologies/ring-5.net"
expect 0 '10 hosts on 9 places' order "$root/topologies/mixed-speeds.net"
expect 2 'no-names:1: expected 0xGUID "name"' order --names="$dir/no-names" "$root/topologies/tree-3.net"
expect 2 'format "x": expected list' order --format=x "$root/topologies/tree-3.net"
expect 2 'links "5x"' whatif --write="$dir/left.net" --links=5x "$root/topologies/ring-5.net"
# A job that tests resilience does not pass with nothing removed, or less than it asked for.
expect 2 '1 cables between switches can be removed, not 3' whatif --write="$dir/left.net" --links=3 "$root/topologies/ring-5.net"
expect 2 '1 cables between switches can be removed, not 5' whatif --links=100% "$root/topologies/ring-5.net"
expect 2 '0 switches without hosts can be removed' whatif --write="$dir/left.net" --switches=1 "$root/topologies/ring-5.net"
expect 2 '[0-9] switches without hosts can be removed, not 8' whatif --switches=100% "$root/topologies/tree-3.net"
expect 2 'nothing to remove' whatif --links=0 "$root/topologies/ring-5.net"
expect 2 '^osmroutes: 5 % of the cables between switches are fewer than one' whatif --write="$dir/left.net" --links=5% "$root/topologies/ring-5.net"
expect 2 'no switch without hosts in this fabric; use --switch' whatif --each=switch "$root/topologies/ring-5.net"
expect 2 'called "eaf-2": did you mean "leaf-2"' whatif --switch=eaf-2 "$root/topologies/tree-2.net"
expect 0 '"kind": "link"' whatif --json --write="$dir/left.net" --links=1 "$root/topologies/ring-5.net"
expect 0 '"kind": "link"' whatif --json --write="$dir/left.net" --split --links=3 "$root/topologies/ring-5.net"
expect 0 '"kind": "link"' whatif --json --write="$dir/left.net" --links=2 "$dir/torus/opensm-subnet.lst"
# With an LMC above 0 no host has an odd LID: only then the note.
for lmc in 0 2; do
	"$command" route --lmc=$lmc "$root/topologies/ring-5.net" --dump "$dir/lmc$lmc" >/dev/null
done
expect 0 'this file has no LMC: give --lmc=N if the subnet has one$' route "$dir/lmc2/opensm-subnet.lst"
for words in "$dir/lmc0/opensm-subnet.lst" "--lmc=2 $dir/lmc2/opensm-subnet.lst"; do
	"$command" route $words 2>&1 | grep 'no LMC' && bad=1
done
expect 2 'missing FILE' route
expect 2 'No such file or directory' route /nonexistent/x.net
expect 2 'vls "16": expected 1 to 15' route --vls=16 "$root/topologies/ring-5.net"
expect 2 'unknown option "stabel": did you mean "stable"' \
	route -o stabel=no "$root/topologies/ring-5.net"
expect 0 'deadlock-free +proven' route -e dfsssp "$root/topologies/cluster-192.net"
expect 0 '"deadlock_free": true' route --json "$root/topologies/torus-4x4.net"
expect 0 'standard input' route - < "$root/topologies/tree-2.net"
# One lane is not enough for the shortest routes of a ring: without detours dfsssp refuses.
expect 0 'deadlock-free +proven' route --vls=1 "$root/topologies/ring-5.net"

printf 'Switch 4 "a"\n[1] "b"[2]\n' > "$dir/cut.net"
expect 2 'cut.net:2: the cable goes to "b", which the file does not describe' route "$dir/cut.net"
printf 'Switch 4 "a"\n\nSwitch 4 "b"\n[1] "c"[1]\n\nSwitch 4 "c"\n[1] "b"[1]\n' > "$dir/apart.net"
expect 0 'verdict between hosts +proven' route --dump "$dir/apart" "$dir/apart.net"
expect 0 ': 2 switches' check "$dir/apart"
printf 'Switch 4 "a"\n' > "$dir/single.net"
expect 2 'no switch has a cable' route --dump "$dir/single" "$dir/single.net"
expect 2 'nothing is left of .*single.net without a' whatif --switch=a --write="$dir/left.net" "$dir/single.net"
printf 'Ca 1 "a"\n[1] "b"[1]\n\nCa 1 "b"\n[1] "a"[1]\n' > "$dir/back-to-back.net"
expect 2 'switch' route "$dir/back-to-back.net"
expect 0 '^dmodk: not a fat tree: ' route -e all "$root/topologies/torus-4x4.net"
expect 0 'verdict between hosts +proven' route -e all --lmc=2 "$root/topologies/tree-2.net" --dump "$dir/dump"
[ -s "$dir/dump/dfsssp/opensm-lfts.dump" ] || { echo "no dump"; bad=1; }
# What the checker refused, or the engine never made, is not dumped.
expect 1 '^dfsssp: .*(lane|VL)' route --vls=1 -o detours=no "$root/topologies/ring-5.net" --dump "$dir/none"
[ ! -e "$dir/none" ] || { echo "a refused routing was dumped"; bad=1; }
# A page has the tables that there are; that others are refused is said.
expect 1 '^osmroutes: angara: ' report -e angara -e dfsssp --html="$dir/page" "$root/topologies/tree-2.net"
expect 1 '^osmroutes: angara: ' report -e dfsssp -e angara --html=/dev/null "$root/topologies/tree-2.net"
[ -s "$dir/page" ] || { echo "no page"; bad=1; }

# A full device is noticed.
mkfifo "$dir/pipe" && expect 2 'is no regular file' check -e dfsssp --prom="$dir/pipe" "$root/topologies/tree-2.net"
if [ -w /dev/full ]; then
	expect 2 'No space left' generate torus dims=4x4 -o /dev/full
	for words in "conf --list" "conf --list --json" "generate torus" "route topologies/ring-5.net" \
		     "route --json topologies/cluster-192.net" "--help"; do
		out=$(cd "$root" && "$command" $words 2>&1 > /dev/full)
		rc=$?
		if [ $rc -ne 2 ] || ! grep -qE '^osmroutes: .*(No space|written)' <<<"$out"; then
			printf 'osmroutes %s > /dev/full: exit %s, it said: %s\n' "$words" $rc "$out"
			bad=1
		fi
	done
fi

# Questions about one set of tables.
expect 2 'h1: No such file' path h0 h1
expect 2 'missing FILE' path
expect 2 'expected exactly one FILE' path h0 h1 h2 "$root/topologies/ring-5.net"
expect 2 'no node is called "nobody"' path nobody "$root/topologies/ring-5.net"
expect 2 'there is no cable on this port' path s-0:8 "$root/topologies/ring-5.net"
expect 2 'are one end port' path h0 h0 "$root/topologies/ring-5.net"
expect 2 '"h.07-00." is no list of hosts' path --hosts='h[07-00]' "$root/topologies/ring-5.net"
expect 2 'tables=live needs --live, and a FILE is given' route --tables=live "$root/topologies/ring-5.net"
expect 2 'no node has the LID 999' path lid:999 h0 "$root/topologies/ring-5.net"
expect 2 'no node is called "nobody"' path nobody h0 "$root/topologies/ring-5.net"
expect 2 'expected one engine, or one set' path -e all h0 h1 "$root/topologies/ring-5.net"
expect 0 '^alpha mlx5_0 +h3 ' path --names="$dir/names" alpha h3 "$root/topologies/tree-3.net"
expect 2 'expected NODE:PORT' path --via=leaf-0 "$root/topologies/tree-2.net"
expect 2 'no node is called "leaf-0"' path --via=leaf-0:8 "$root/topologies/ring-5.net"

"$command" generate tree m=2 w=1 p=1 >"$dir/one.net"
expect 0 ': 1 switch, 0 channels, 3 end ports, 3 LIDs; ' check -e dfsssp "$dir/one.net"
expect 0 '' whatif --links=1 --write="$dir/less.net" "$root/topologies/tree-2.net"
expect 0 '^missing,' diff --csv "$root/topologies/tree-2.net" "$dir/less.net"
expect 0 '^missing +[a-z]' diff "$root/topologies/tree-2.net" "$dir/less.net"
expect 1 '^new +[a-z]' diff --same "$dir/less.net" "$root/topologies/tree-2.net"
expect 0 'every node and cable of .* is where it was' diff --same "$root/topologies/tree-2.net" - < "$root/topologies/tree-2.net"

expect 2 'format "svg": expected net or dot' generate --format=svg "$root/topologies/ring-5.net"
expect 2 'need -o FILE' generate --format=dot --json "$root/topologies/ring-5.net"
python3 - "$command" "$root/topologies/tree-3.net" <<'EOT' || bad=1
import re, subprocess, sys
text = open(sys.argv[2]).read()
nodes = len(re.findall(r'^(?:Switch|Ca|Hca|Rt)\s', text, re.M))
cables = len(re.findall(r'^\[\d+\]', text, re.M)) // 2
dot = subprocess.run([sys.argv[1], 'generate', '--format=dot', sys.argv[2]], check=True, capture_output=True, text=True).stdout
ok = (nodes, cables) == (dot.count('label="') - 2 * dot.count(' -- '), dot.count(' -- '))
sys.exit(not ok and 'generate --format=dot loses nodes or cables')
EOT

# The three forms say the same.
expect 2 'no such section; --schema' route --csv=engine "$root/topologies/ring-5.net"
expect 2 'need -o FILE' generate torus --json
expect 0 '^results rows' route --schema
expect 0 '^summary head' generate --schema
expect 0 '"switch_cables": 5' generate torus dims=5 --json -o "$dir/five.net"
expect 0 '^link,' whatif --links=1 --csv=removed --write="$dir/four.net" "$dir/five.net"
expect 0 ' 5 switches, 8 channels,' check -e dfsssp "$dir/four.net"
# A CA on the last port of every switch makes no host of it.
expect 0 '' generate tree m=4,4 w=1,2 --mgmt -o "$dir/mgmt.net"
expect 0 'the fabric without [^ ]+$' whatif --switches=1 --write="$dir/left.net" "$dir/mgmt.net"
expect 0 'cases +2$' whatif --each=switch "$dir/mgmt.net"
python3 - "$command" "$root/topologies/cluster-192.net" <<'EOT' || bad=1
import csv, io, json, re, subprocess, sys
run = lambda *w: subprocess.run([sys.argv[1], 'route', '-e', 'all', sys.argv[2]] + list(w),
                                check=True, capture_output=True, text=True).stdout
tables = json.loads(run('--json'))['results']
rows = list(csv.DictReader(io.StringIO(run('--csv'))))
shown = re.search(r'^edge forwarding index +(.*)$', run(), re.M).group(1).split()
ok = (len(tables) == len(rows) == len(shown) > 1
      and all(str(t['efi']) == r['efi'] == s and t['digest'] == r['digest']
              and str(t['proven']['reversible']).lower() == r['proven.reversible']
              for t, r, s in zip(tables, rows, shown)))
options = list(csv.reader(io.StringIO(subprocess.run([sys.argv[1], 'conf', '--list', '--csv=engine_options'],
               check=True, capture_output=True, text=True).stdout)))
ok = ok and len({len(r) for r in options}) == 1 and any(',' in r[4] for r in options)
sys.exit(not ok and 'table, JSON and CSV differ')
EOT
# Configurations.
printf 'max_vls = 3\n[dfsssp]\nany_sl_cost = 7\n' > "$dir/good.conf"
printf 'max_vls = 3\n[dfsssp]\nroundz = 5\nroundy = 6\n' > "$dir/bad.conf"
printf 'qos TRUE\nevent_plugin_name osmroutes\nrouting_engine dfsssp\nmax_op_vls 2\n' > "$dir/opensm.conf"
printf 'qos TRUE\nrouting_engine minhop,dfsssp\n' > "$dir/plain.conf"
ring=$root/topologies/ring-5.net
expect 0 'good.conf: good' conf --check "$dir/good.conf"
expect 0 'dfsssp +any_sl_cost +7 +8' conf "$dir/good.conf"
expect 1 '^2 errors: osmroutes would be disabled' conf --check "$dir/bad.conf"
expect 1 'bad.conf:4: .*roundy' conf --check "$dir/bad.conf"
printf 'max_vls = 3\n[dfsssp]\nany_sl = on\nany_sl = off\nany_sl=on\n[sssp]\nrebalance = 3\n[dfsssp]\nmax_vls = 4\nmax_vls = 4\n' > "$dir/twice.conf"
expect 0 'twice.conf:4: any_sl is set a second time: this value counts; others are set twice, too$' conf --check "$dir/twice.conf"
expect 0 'dfsssp +any_sl +on +auto' conf "$dir/twice.conf"
"$command" conf --check "$dir/good.conf" | grep twice && { echo "a second time of nothing"; bad=1; }
expect 0 '3 virtual lanes: as --vls says, though links have 1, 2, 4, 8 or 15' route --config none --vls=3 "$ring"
expect 0 '4 virtual lanes: as --vls says; ' route --config none --vls=4 "$ring"
printf 'any_sl_cost = 3\n' > "$dir/above.conf"
expect 1 'above.conf:1: "any_sl_cost" is an option of .*\[dfsssp\]' conf --check "$dir/above.conf"
expect 2 'absent: cannot be read: No such file' conf --check "$dir/absent"
expect 2 'save: stored tables need a file' route --save=- "$ring"
expect 0 '^(no osmroutes.conf: defaults|options from /etc/opensm/osmroutes.conf: good)$' conf --check
expect 0 '^no osmroutes.conf: defaults; 8 virtual lanes' route --config none "$ring"
expect 2 'absent: cannot be read' conf --opensm-conf "$dir/absent"
expect 0 ': good' conf --check "$dir/good.conf" --opensm-conf "$dir/opensm.conf"
expect 1 'does not name osmroutes' conf --check "$dir/good.conf" --opensm-conf "$dir/plain.conf"
expect 1 'routing_engine minhop,dfsssp: osmroutes routes only if the engines before it fail' conf --check "$dir/good.conf" --opensm-conf "$dir/plain.conf"
sed s/dfsssp/dfssp/ "$dir/opensm.conf" > "$dir/typo.conf"
expect 1 'routing_engine: "dfssp" is no engine of OpenSM or osmroutes: did you mean "dfsssp"' conf --check "$dir/good.conf" --opensm-conf "$dir/typo.conf"
sed 's/dfsssp/dfsssp no_fallback/' "$dir/opensm.conf" > "$dir/last.conf"
expect 0 ': good' conf --check "$dir/good.conf" --opensm-conf "$dir/last.conf"
sed s/dfsssp/updn/ "$dir/opensm.conf" > "$dir/updn.conf"
expect 1 'routing_engine updn: osmroutes routes nothing: none' conf --check "$dir/good.conf" --opensm-conf "$dir/updn.conf"
expect 2 'updn.conf: routing_engine updn is an engine of OpenSM itself; -e NAME' route --config none --opensm-conf "$dir/updn.conf" "$ring"
expect 2 'typo.conf: routing_engine "dfssp" is no engine of OpenSM or osmroutes: did you mean "dfsssp"' route --config none --opensm-conf "$dir/typo.conf" "$ring"
grep -v routing_engine "$dir/opensm.conf" > "$dir/unset.conf"
expect 2 'unset.conf: routing_engine is not set, so OpenSM takes an engine of its own' route --config none --opensm-conf "$dir/unset.conf" "$ring"
# A plugin and an OpenSM, by the version that is in them.
for version in 3.3.23 3.3.99; do
	mkdir -p "$dir/$version"
	printf '\0OpenSM program\0OpenSM %s\0' $version | tee "$dir/$version/opensm" > "$dir/$version/libosmroutes.so"
done
export LD_LIBRARY_PATH="$dir/3.3.23" PATH="$dir/3.3.23:$PATH"
expect 0 ': good' conf --check "$dir/good.conf" --opensm-conf "$dir/opensm.conf"
LD_LIBRARY_PATH=$dir/3.3.99
expect 1 '3.3.99/libosmroutes.so is built for OpenSM 3.3.99 and not loaded by .*/opensm, which is OpenSM 3.3.23' conf --check "$dir/good.conf" --opensm-conf "$dir/opensm.conf"
unset LD_LIBRARY_PATH
PATH=${PATH#*:}
expect 2 'bad.conf:3: ' route --config "$dir/bad.conf" "$ring"
expect 0 '3 virtual lanes: limited by max_vls' route --config "$dir/good.conf" "$ring"
expect 0 '2 virtual lanes: limited by max_op_vls' route --config none --opensm-conf "$dir/opensm.conf" "$ring"
expect 2 'does not name osmroutes' route --opensm-conf "$dir/plain.conf" "$ring"
sed 's/TRUE/FALSE\ncn_guid_file x\nio_guid_file (null)/' "$dir/opensm.conf" > "$dir/off.conf"
expect 0 '1 virtual lane: QoS is off' route --config none --opensm-conf "$dir/off.conf" "$ring"
expect 0 'this command ignores the file of cn_guid_file; the plugin reads it' route --config none --opensm-conf "$dir/off.conf" "$ring"
expect 0 'digest' route --config none "$ring" --save "$dir/stored" --dump "$dir/plan"
expect 0 'digest' route --config none "$ring" --previous "$dir/stored"
expect 2 'exits.sh: not a file of stored tables' route --config none "$ring" --previous "$0"
expect 0 'SL2VL tables changed +0' diff --same --fabric="$ring" "$dir/stored" "$dir/plan"
expect 2 'stored: ' route --config none -e sssp "$ring" --previous "$dir/stored"
expect 2 'stored: ' route --config none -o max_vls=7 "$ring" --previous "$dir/stored"
expect 2 'stored: tables of another fabric \([0-9]+ of [0-9]+ LIDs are in both\)' route --config none "$root/topologies/tree-2.net" --previous "$dir/stored"
expect 2 'stored: tables of another fabric: (switch|LID) ' check "$root/topologies/tree-2.net" --tables "$dir/stored"
expect 2 'absent: No such file' route "$ring" --previous "$dir/absent"
for word in status drain; do
	expect 2 'no opensm answers at .*/absent: it does not run, or control_socket in its osmroutes.conf' $word --socket="$dir/absent"
done

[ $bad -eq 0 ] && echo "exit codes and messages as documented"
exit $bad
