# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How scripts/study campaign and scripts/study load begin: the modules of tests/osm, directories, what has to be there."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(HERE)), 'osm'))

import osmtest					# noqa: E402


def add_options(parser, name, quick):
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--quick', action='store_true', help=quick)
    parser.add_argument('--dir', default=os.path.join(osmtest.BUILD, 'osm-tests', name), type=os.path.abspath)


def fresh(*path):
    """An empty directory."""
    path = os.path.join(*path)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def run(main, args):
    """Ends with main's status, or says what is not there."""
    try:
        osmtest.need_tools()
    except osmtest.Skip as s:
        print('skipped:', s)
        sys.exit(osmtest.SKIPPED)
    os.makedirs(args.dir, exist_ok=True)
    sys.exit(main(args))
