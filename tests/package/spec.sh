#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# spec.sh PROJECT BUILD: the spec file makes, of a release's sources, the package that cpack makes: the same
# files, the same requirements.
set -eu
export LC_ALL=C.UTF-8
command -v rpmbuild >/dev/null || { echo "skipped: no rpmbuild"; exit 77; }
project=$1 build=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}
spec=$build/osmroutes.spec
version=$(sed -n 's/^Version: *//p' "$spec")
mkdir -p "$dir/SOURCES" "$dir/osmroutes-$version"
cd "$project"
{ git ls-files -z 2>/dev/null || find . -name 'build*' -prune -o -name .git -prune -o -type f -print0; } |
	tar --null -T - -cf - | tar -C "$dir/osmroutes-$version" -xf -
tar -C "$dir" -czf "$dir/SOURCES/osmroutes-$version.tar.gz" "osmroutes-$version"
# Debian's packages are unknown to rpm.
rpmbuild -bb --nodeps --define "_topdir $dir" --define '_build_id_links none' "$spec" >"$dir/log" 2>&1 ||
	{ tail -20 "$dir/log"; fail "rpmbuild"; }
ours=$(find "$dir/RPMS" -name "osmroutes-$version-*.rpm")
SOURCE_DATE_EPOCH=1700000000 cpack --config "$build/CPackConfig.cmake" -G RPM -B "$dir/cpack" >"$dir/log" 2>&1 ||
	{ tail "$dir/log"; fail cpack; }
for package in "$ours" "$dir"/cpack/osmroutes-*.rpm; do
	# Without folders. Debian's cpack has a multiarch folder and compresses pages itself, as RHEL's rpmbuild does.
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$package" | sed -n 's/^[^d][^ ]* //p' |
		sed 's,/lib/[a-z0-9_]*-linux-gnu/,/lib64/,; s,\.gz$,,' | sort >"$package.files"
	rpm -qp --requires "$package" | grep -E '^(opensm|lib)' | sort -u >"$package.needs"
	rpm -qpc "$package" >"$package.config"
done
for what in files needs config; do
	diff "$ours.$what" "$(echo "$dir"/cpack/osmroutes-*.rpm."$what")" || fail "another package than cpack's: $what"
done
echo "$(wc -l <"$ours.files") files, as cpack packs them"
