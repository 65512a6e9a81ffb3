#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Sourced by the scripts in bash: what they take stands in their heads.

# usage CODE: the head of the script, and the end of it.
usage()
{
	awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); if (length || said++) print }' "$0"
	exit "$1"
}

# take_options "$@": options that the head does not name are refused; --help prints it. Words are for the script to look at.
take_options()
{
	local word
	for word; do
		case $word in
		-h | --help) usage 0 ;;
		--?*) grep -qE -- "^# .*[ [|(]${word%%=*}([][:space:]=|,:)]|\$)" "$0" || { echo "There is no option $word:"; usage 2; } ;;
		esac
	done
}

# take_ctest_options "$@": the same where they are for ctest, which runs all tests if it does not know a word.
take_ctest_options()
{
	local word known
	case ${1:--} in
	-*) ;;
	*) echo "\"$1\" is no option of ctest:"; usage 2 ;;
	esac
	known=$(ctest --help)
	for word; do
		case $word in
		-h | --help) usage 0 ;;
		--?*) grep -qwF -- "${word%%=*}" <<<"$known" || { echo "ctest has no option $word:"; usage 2; } ;;
		esac
	done
}
