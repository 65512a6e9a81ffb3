#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# inside.sh: what scripts/package runs inside the clean root, with the package, a fabric and
# nothing of the sources in /package. Stock OpenSM first, then the package comes and goes.
set -eu
cd /package
deb=$(ls osmroutes_*.deb)
fabric=/package/cluster-192.net
export IBSIM_SOCKNAME=osr-package-$$ DEBIAN_FRONTEND=noninteractive

fail() {
	echo "FAILED: $*"
	[ ! -f "${log:-}" ] || tail -5 "$log"
	exit 1
}

# sweep NAME OPENSM-ARGUMENTS...: a new simulated fabric and one sweep; log and dumps in /package/NAME
sweep() {
	local name=$1 sim
	shift
	rm -rf "$name" && mkdir "$name"
	log=/package/$name/log
	mkfifo "$name/console"
	ibsim -s -n "$fabric" <>"$name/console" >"$name/ibsim" 2>&1 &
	sim=$!
	for _ in $(seq 100); do
		grep -q 'simulator ready' "$name/ibsim" && break
		sleep 0.1
	done
	OSM_TMP_DIR=/package/$name OSM_CACHE_DIR=/package/$name timeout -k 5 60 \
		ibsim-run opensm -o -f "$log" -D 0x43 "$@" >"$name/out" 2>&1 || fail "opensm $*"
	kill $sim
	wait $sim 2>/dev/null || true
	[ -s "$name/opensm-lfts.dump" ] || fail "opensm $*: no tables"
}

step() { echo "$SECONDS s: $*"; }

step "OpenSM $(dpkg-query -W -f='${Version}' opensm) without the package"
sweep before -R dfsssp -Q
! grep -q osmroutes "$log" || fail "something of osmroutes is here already"
(cd / && find etc usr -type f | sort) >files-before

step "$deb comes"
apt-get install -y --no-install-recommends "./$deb" >apt 2>&1 || { cat apt; fail "apt-get install"; }
osmroutes --version
for file in /etc/opensm/osmroutes.conf /usr/share/man/man1/osmroutes.1.gz /usr/share/man/man5/osmroutes.conf.5.gz \
	    /usr/share/man/man7/osmroutes-dfsssp.7.gz /usr/share/bash-completion/completions/osmroutes \
	    /usr/share/osmroutes/opensm.conf /usr/share/osmroutes/opensm@.service.d/osmroutes.conf \
	    /usr/share/doc/osmroutes/copyright; do
	[ -s "$file" ] || fail "$file is missing"
	grep -q "^${file#/}\$" files-before && fail "$file was there before"
done
# Pages lead nowhere that is not there.
for page in /usr/share/doc/osmroutes/README.md /usr/share/doc/osmroutes/docs/*.md; do
	for link in $(grep -o '](\([^)#]*\)' "$page" | sed 's/](//' | grep -v '^http'); do
		[ -e "$(dirname "$page")/$link" ] || fail "$page has a link to $link"
	done
done
# A program finds libosrkeys.
pc=$(echo /usr/lib/*/pkgconfig/libosrkeys.pc)
grep -q '^Libs: .*-losrkeys' "$pc" || fail "libosrkeys.pc"
prefix=$(sed -n "s|^prefix=\${pcfiledir}|${pc%/*}|p" "$pc")
[ -e "$prefix/include/osmroutes/keyclient.h" ] || fail "no keyclient.h"
# Every engine has its page.
for engine in $(osmroutes conf --list | grep -E '^[a-z]'); do
	[ -s "/usr/share/man/man7/osmroutes-$engine.7.gz" ] || fail "no page for $engine"
done

step "opensm -F with the shipped example"
sweep example -F /usr/share/osmroutes/opensm.conf
grep -q -- '-R dfsssp is served by osmroutes' "$log" || fail "osmroutes does not route"
line=$(grep 'osmroutes: dfsssp: .* hosts on' "$log") || fail "no line about the sweep"
case $line in
*"proven: reachable, deadlock-free"*) ;;
*) fail "not proven: $line" ;;
esac
! grep -q 'ERR' "$log" || fail "an error line"
# The command that came with it gives the same tables.
osmroutes route "$fabric" --lmc=0 --multicast --dump own >/dev/null || fail "osmroutes route"
cmp own/opensm-lfts.dump example/opensm-lfts.dump || fail "the command and the plugin differ"
! cmp -s before/opensm-lfts.dump example/opensm-lfts.dump || fail "the tables are those of the stock engine"

step "another OpenSM than the one it was built for"
mkdir -p other/DEBIAN
printf 'Package: opensm\nVersion: 3.3.99-1\nArchitecture: %s\nMaintainer: nobody <nobody@localhost>\nDescription: none\n' \
	"$(dpkg --print-architecture)" >other/DEBIAN/control
dpkg-deb --build other other.deb >/dev/null
if apt-get install --simulate --no-remove ./other.deb >apt 2>&1; then
	fail "apt would let another OpenSM in"
fi
grep -q 'osmroutes : Depends: opensm (<<\|following packages will be REMOVED' apt ||
	{ cat apt; fail "apt gives another reason"; }

step "the package goes"
apt-get remove -y osmroutes >apt 2>&1 || { cat apt; fail "apt-get remove"; }
# A configuration that still names the plugin: one error line, and stock routes.
printf 'event_plugin_name osmroutes\nrouting_engine dfsssp\nqos TRUE\n' >left.conf
sweep left -F left.conf
grep -q 'libosmroutes.so' "$log" || fail "the log does not say that the plugin is gone"
cmp before/opensm-lfts.dump left/opensm-lfts.dump || fail "OpenSM routes otherwise than before"
sweep after -R dfsssp -Q
cmp before/opensm-lfts.dump after/opensm-lfts.dump || fail "OpenSM routes otherwise than before"
# Stored tables go with a purge, and nothing else of OpenSM's cache directory does.
cache=/var/cache/opensm
mkdir -p $cache
cp example/osmroutes-*-dfsssp.store $cache/ || fail "no tables were stored"
store=$(echo $cache/osmroutes-*-dfsssp.store)
cp "$store" "${store%dfsssp.store}dmodk.store"
keys=$cache/osmroutes-keys-0000000000100001.json
drained=$cache/osmroutes-drained-0000000000100001.json
history=$cache/osmroutes-history-0000000000100001.json
echo '{}' | tee $keys $history >$drained
echo mine | tee $cache/osmroutes-notes $cache/osmroutes-a-b.store $cache/guid2lid /package/mine >/dev/null
ln -sf /package/mine $cache/osmroutes-0000000000100002-dfsssp.store
apt-get purge -y osmroutes >apt 2>&1 || { cat apt; fail "apt-get purge"; }
for file in "$store" "${store%dfsssp.store}dmodk.store" $keys $drained $history; do
	[ ! -e "$file" ] || fail "$file is left after a purge"
done
for file in $cache/osmroutes-notes $cache/osmroutes-a-b.store $cache/guid2lid /package/mine; do
	[ "$(cat $file)" = mine ] || fail "$file went with a purge"
done
rm $cache/osmroutes-notes $cache/osmroutes-a-b.store $cache/guid2lid $cache/osmroutes-0000000000100002-dfsssp.store
(cd / && find etc usr -type f | sort) >files-after
grep -vE '^(etc/ld.so.cache)$' files-after | comm -13 files-before - >left-behind
# What opensm itself leaves is in files-before already.
[ ! -s left-behind ] || { cat left-behind; fail "files are left behind"; }
step "as it was before"

# docs/admin.md, command by command. There is no systemd in here: restarting opensm is one sweep of what
# the unit would start.
[ -s doc-commands ] || exit 0
systemctl() {
	local unit=/lib/systemd/system/opensm@.service drop=/etc/systemd/system/opensm@.service.d/osmroutes.conf
	[ "$1" = restart ] || return 0
	# The configuration is the administrator's.
	! grep -qs ExecStart $drop || fail "the drop-in starts another command than the unit"
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^ExecStart=\(.*opensm\) /\1 /p' "$unit" | sed 's/--guid %I//; s/%I/0001/; s,^[^ ]*,,')
	(sweep unit "$@")
	log=/var/log/opensm.0001.log
	grep -q 'SUBNET UP' "$log" || fail "the subnet did not come up"
	restarts=$((${restarts:-0} + 1))
	echo "restart $restarts: $(grep -c 'osmroutes: dfsssp: .* hosts on' "$log") sweeps by osmroutes so far"
}
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/91yes
while read -r command; do
	step "\$ $command"
	case $command in
	"rm -f "*/osmroutes-\*) ls /var/lib/prometheus/node-exporter/osmroutes-*.prom >/dev/null || fail "no metrics" ;;
	esac
	eval "$command" >said 2>&1 || { cat said; fail "$command"; }
	case $command in
	"cp -n"*) # a configuration that is there stays
		echo '# mine' >>/etc/opensm/opensm.conf
		eval "$command" 2>>said || true
		grep -q '^# mine$' /etc/opensm/opensm.conf || fail "$command overwrites a configuration"
		;;
	*restart*) cat said ;;
	"grep osmroutes"*) grep -q 'served by osmroutes' said || fail "the log does not say who serves" ;;
	esac
done <doc-commands
[ -z "$(ls /var/lib/prometheus/node-exporter /var/cache/opensm 2>/dev/null | grep osmroutes)" ] || fail "something is left"
[ ! -e /usr/bin/osmroutes ] || fail "still there"
step "every command of docs/admin.md has done its work"
