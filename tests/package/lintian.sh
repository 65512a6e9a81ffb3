#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# lintian.sh BUILD: Debian's checker of packages has nothing to say about the .deb that the reasons in
# share/osmroutes.lintian-overrides do not answer, and each reason is still needed.
set -eu
command -v lintian >/dev/null || { echo "skipped: no lintian"; exit 77; }
command -v dpkg-shlibdeps >/dev/null || { echo "skipped: no dpkg-shlibdeps"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
SOURCE_DATE_EPOCH=1700000000 cpack --config "$1/CPackConfig.cmake" -G DEB -B "$dir" >"$dir/log" 2>&1 ||
	{ tail "$dir/log"; exit 1; }
lintian --display-info --show-overrides --tag-display-limit 0 --allow-root "$dir"/osmroutes_*.deb \
	>"$dir/said" 2>&1 || true
if grep -v '^[NO]:\|^running with root' "$dir/said"; then
	exit 1
fi
n=$(grep -c '^O:' "$dir/said") || { echo "no override was used: did lintian read them?"; exit 1; }
echo "nothing but $n overrides with their reasons"
