#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# source.sh PROJECT: the source package of a tree in which things were built has the sources, all of them, and nothing else.
set -eu
command -v dpkg-source >/dev/null || { echo "skipped: dpkg-source is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/osmroutes
mkdir "$tree"
cd "$1"
{ git ls-files -z 2>/dev/null || find . -name 'build*' -prune -o -name .git -prune -o -type f -print0; } |
	tar --null -T - -cf - | tar -C "$tree" -xf -
(cd "$tree" && find . -type f -o -type l) | sort >"$work/sources"
for folder in build build-quick build-opensm-3.3.24 debian/build tests/cli/__pycache__ .git; do
	mkdir -p "$tree/$folder/inner"
	echo made >"$tree/$folder/made.o"
	echo made >"$tree/$folder/inner/made"
done
cd "$work"
dpkg-source -b osmroutes >log 2>&1 || { cat log; exit 1; }
tar -tf osmroutes_*.tar.xz | sed -n 's,^[^/]*/,./,; /[^/]$/p' | sort >packed
diff sources packed || { echo "The source package is not the sources."; exit 1; }
echo "$(wc -l <packed) files"
