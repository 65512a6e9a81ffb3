#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs one scenario of stock opensm under ibsim: run.py NAME; run.py --list names them all.

Exit status 0 passed, 1 failed, 77 skipped. The files of a failed scenario stay under
$OSR_BUILD/osm-tests/NAME for a look; those of a passed one are removed, but for OSR_KEEP=1.
"""
import importlib
import os
import shutil
import sys
import traceback

import osmtest
import judge

NO_SCENARIOS = ('run', 'demo', 'packets', 'traced', 'timed')
for _name in sorted(os.listdir(osmtest.HERE)):
    if _name.endswith('.py') and _name[:-3] not in NO_SCENARIOS:
        importlib.import_module(_name[:-3])	# registers its scenarios


def run(name):
    workdir = os.path.join(osmtest.BUILD, 'osm-tests', name)
    shutil.rmtree(workdir, ignore_errors=True)
    os.makedirs(workdir)
    try:
        osmtest.need_tools()
        judge.SCENARIOS[name](workdir)
    except osmtest.Skip as s:
        print('skipped:', s)
        return osmtest.SKIPPED
    except osmtest.Failure as f:
        traceback.print_exc()
        print('FAILED %s: %s (see %s)' % (name, f, workdir))
        return 1
    if not os.environ.get('OSR_KEEP'):
        shutil.rmtree(workdir, ignore_errors=True)
    print('passed', name)
    return 0


def main():
    if sys.argv[1:] == ['--list']:
        print(*sorted(judge.SCENARIOS), sep='\n')
        return 0
    if len(sys.argv) != 2 or sys.argv[1] not in judge.SCENARIOS:
        print(__doc__)
        return 2
    return run(sys.argv[1])


sys.exit(main())
