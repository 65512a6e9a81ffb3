#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs experiments; see scripts/study experiments."""
import argparse
import sys
import time

import angara
import document
import experiments
import keys
from measure import Workshop

ALL = {**experiments.ALL, **angara.ALL, **keys.ALL}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('names', nargs='*', help='which experiments (default: all)')
    p.add_argument('--list', action='store_true', help='their names, and what each does')
    p.add_argument('--ours', action='store_true', help='measure only our engines again; rows of stock engines stay')
    args = p.parse_args()
    for name in set(args.names) - set(ALL):
        p.error('no experiment "%s"; --list names them' % name)
    for name in args.names or ALL:
        if args.list:
            print('%-18s %s' % (name, ALL[name].__doc__.split('\n')[0]))
            continue
        workshop, start = Workshop(document.DATA if args.ours else None), time.monotonic()
        try:
            for data in ALL[name](workshop):
                if not data.rows:
                    sys.exit('%s: %s has no rows' % (name, data.name))
                data.write(document.DATA)
        finally:
            workshop.close()
        print('%-12s %6.1f s' % (name, time.monotonic() - start), flush=True)
    if not args.list:
        document.main()


if __name__ == '__main__':
    main()
