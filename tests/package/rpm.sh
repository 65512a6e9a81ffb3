#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# rpm.sh BUILD: the .rpm, as far as a Debian can try it: rpm refuses it where the OpenSM it was built for is not
# known, installs it into an empty root when told to, finds every file as packed, and takes all of it away again
# but for a configuration that somebody has changed.
set -eu
export LC_ALL=C.UTF-8
for tool in rpm rpmbuild; do
	command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: rpm --root needs root"; exit 77; }
build=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}
SOURCE_DATE_EPOCH=1700000000 cpack --config "$build/CPackConfig.cmake" -G RPM -B "$dir" >"$dir/log" 2>&1 ||
	{ tail "$dir/log"; exit 1; }
package=$(ls "$dir"/osmroutes-*.rpm)
version=$(sed -n 's/^#define OSM_VERSION "OpenSM \(.*\)"$/\1/p' \
	"$(sed -n 's/^OSR_OPENSM_INCLUDE:[A-Z]*=//p' "$build/CMakeCache.txt")/opensm/osm_version.h")
rpm -qp --requires "$package" | grep -qx "opensm = $version" || fail "does not require opensm = $version"
[ "$(rpm -qpc "$package")" = /etc/opensm/osmroutes.conf ] || fail "osmroutes.conf is no configuration file"

root=$dir/root
mkdir "$root"
in_root() { rpm --root "$root" "$@" 2>&1; }
in_root --initdb
if in_root -i "$package" >"$dir/said"; then
	fail "installed without an OpenSM"
fi
grep -q "opensm = $version is needed by" "$dir/said" || fail "refused for another reason: $(cat "$dir/said")"
in_root -i --nodeps "$package" >/dev/null || fail "rpm -i --nodeps"
in_root -V --nodeps osmroutes >/dev/null || fail "rpm -V finds other files than were packed"
[ "$("$root/usr/bin/osmroutes" --version)" = "$("$build/src/cli/osmroutes" --version)" ] ||
	fail "another osmroutes is in the package"
plugin=$(rpm -qpl "$package" | grep '/libosmroutes.so$') || fail "no plugin"
grep -q "OpenSM $version" "$root$plugin" || fail "the plugin is for another OpenSM"
for page in man1/osmroutes.1.gz man5/osmroutes.conf.5.gz man7/osmroutes-dfsssp.7.gz; do
	[ ! -e "$build/manual/$(basename "$page" .gz)" ] || [ -s "$root/usr/share/man/$page" ] || fail "no $page"
done
echo 'on_error = refuse' >>"$root/etc/opensm/osmroutes.conf"
in_root -e --nodeps osmroutes >/dev/null || fail "rpm -e"
left=$(cd "$root" && find etc usr -type f ! -path '*/rpm/*')
[ "$left" = etc/opensm/osmroutes.conf.rpmsave ] || fail "rpm -e leaves behind: $left"
echo "requires opensm = $version; comes and goes"
