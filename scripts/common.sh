# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Sourced by scripts that build: what a fresh Debian or Ubuntu lacks, and the build. Everything is built in build/ (OSR_BUILD names another directory).
# shellcheck source=scripts/usage.sh
. "$(dirname "${BASH_SOURCE[0]}")/usage.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${OSR_BUILD:-$root/build}

build_packages="gcc libc6-dev cmake ninja-build pkg-config python3 libopensm-dev libibmad-dev libibumad-dev
libibnetdisc-dev libxxhash-dev libjansson-dev libcmocka-dev lowdown"
run_packages="opensm ibsim-utils infiniband-diags ibutils"

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Packages of the list that dpkg does not have installed.
missing_packages()
{
	local p
	for p in $build_packages $run_packages; do
		dpkg-query -W -f='${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^ii' || printf '%s ' "$p"
	done
}

# Debian starts the opensm that it installs, now and at every boot: on a host of a fabric a second subnet manager. The
# tests start their own. With NONE the condition of Debian 12's opensm.service fails and its init script ends (read, and
# the condition run by hand; never tried on a host with an HCA). What an administrator has configured stays; dpkg keeps
# this file by --force-confold.
keep_opensm_from_starting()
{
	[ -e /etc/default/opensm ] ||
		printf '%s\n' '# By osmroutes, which starts opensm for its tests itself; ALL starts it on all ports.' PORTS=NONE |
		"$@" tee /etc/default/opensm >/dev/null || die "/etc/default/opensm cannot be written."
}

# Installs what is missing, as root or through sudo; otherwise says which packages to install.
need_packages()
{
	local missing as_root=()
	command -v dpkg-query >/dev/null || {
		say "This is no Debian or Ubuntu: install the packages that README.md names for your"
		say "distribution; going on with what is there."
		return 0
	}
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || die "Please install as root: apt-get install $missing"
		as_root=(sudo)
	fi
	say "Installing: $missing"
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2 || true
	case " $missing" in *" opensm "*) keep_opensm_from_starting "${as_root[@]}" ;; esac
	# shellcheck disable=SC2086
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-confold $missing >&2 ||
		die "apt-get could not install: $missing"
}

# Configures and builds, all or $build_targets; the log is shown only when something fails.
build_targets=
build_project()
{
	local log
	{ mkdir -p "$build" && [ -w "$build" ]; } 2>/dev/null ||
		die "$build cannot be written; OSR_BUILD=DIR names another directory to build in."
	log=$(mktemp)
	say "Building in $build ..."
	# shellcheck disable=SC2086
	if ! { cmake -S "$root" -B "$build" -G Ninja "$@" && cmake --build "$build" ${build_targets:+--target $build_targets}; } \
		>"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		die "The build failed (see above)."
	fi
	rm -f "$log"
}
