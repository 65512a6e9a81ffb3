#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# reproducible.sh PROJECT BUILD CMAKE: the sources copied elsewhere, built elsewhere, by one job, give the
# bytes that BUILD has: plugin, command, man pages, osmroutes.conf; and with one
# SOURCE_DATE_EPOCH the same packages. That build is by dpkg-buildpackage, where it is: debian/ makes what cpack makes.
set -eu
project=$1 build=$2 cmake=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

mkdir -p "$dir/somewhere/else/sources"
(cd "$project" && tar --exclude=./build* --exclude=./.git --exclude=__pycache__ -cf - .) |
	tar -xf - -C "$dir/somewhere/else/sources"
type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")
# A name that both builds of packages have.
ln -s somewhere/else/sources/debian/build "$dir/b"
export CMAKE_BUILD_TYPE=${type:-RelWithDebInfo} CMAKE_BUILD_PARALLEL_LEVEL=1 SOURCE_DATE_EPOCH=1700000000
(
	cd "$dir/somewhere/else/sources"
	if command -v dpkg-buildpackage >/dev/null; then
		dpkg-buildpackage -b -d -us -uc
	else
		"$cmake" -S . -B debian/build -G Ninja -DOSR_TESTS=OFF && "$cmake" --build debian/build
	fi
) >"$dir/log" 2>&1 || { tail -20 "$dir/log"; exit 1; }

same() {
	if ! cmp "$1" "$2"; then
		failed=1
	fi
}
same "$build/libosmroutes.so" "$dir/b/libosmroutes.so"
same "$build/src/cli/osmroutes" "$dir/b/src/cli/osmroutes"
for file in "$build"/osmroutes/*.so; do
	same "$file" "$dir/b/osmroutes/$(basename "$file")"
done
for file in "$dir"/b/manual/*; do
	same "$build/manual/$(basename "$file")" "$file"
done
for where in "$project" "$build" "$dir"; do
	if grep -qF "$where/" "$build/libosmroutes.so" "$build"/osmroutes/*.so "$build/src/cli/osmroutes"; then
		echo "the name of the folder $where is in the plugin or the command"
		failed=1
	fi
done

# Two packages, some time apart.
for kind in DEB RPM; do
	case $kind in
	DEB) command -v dpkg-shlibdeps >/dev/null || { echo "no dpkg-shlibdeps: no .deb"; continue; } ;;
	RPM) command -v rpmbuild >/dev/null || { echo "no rpmbuild: no .rpm"; continue; } ;;
	esac
	for b in "$build" "$dir/b"; do
		# Whoever packs has a umask of his own.
		[ "$b" = "$build" ] || umask 077
		cpack --config "$b/CPackConfig.cmake" -G $kind -B "$dir/$kind-$(basename "$b")" \
			>"$dir/log" 2>&1 || { tail "$dir/log"; exit 1; }
	done
	umask 022
	for b in "$build" "$dir/b"; do
		package=$(echo "$dir/$kind-$(basename "$b")"/osmroutes*."${kind,,}")
		# ar notes the mode that the umask gave its members; what counts is in them.
		[ $kind = RPM ] || ar p "$package" >"$package.members"
	done
	end=${kind,,}
	[ $kind = RPM ] || end=deb.members
	same "$dir/$kind-$(basename "$build")"/osmroutes*."$end" "$dir/$kind-b"/osmroutes*."$end"
done
for package in "$dir"/somewhere/else/osmroutes_*.deb; do
	[ -e "$package" ] || continue
	ar p "$package" >"$package.members"
	same "$dir/DEB-$(basename "$build")"/osmroutes*.deb.members "$package.members"
done
[ $failed -eq 0 ] && echo "the same bytes"
exit $failed
