#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs experiments; see scripts/experiments."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

import document
import experiments
from measure import Workshop

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCS = os.path.join(ROOT, 'docs', 'results')


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('names', nargs='*', help='which experiments (default: all)')
    p.add_argument('--list', action='store_true', help='their names, and what each does')
    p.add_argument('--quick', action='store_true', help='tiny fabrics, into a temporary directory')
    p.add_argument('--ours', action='store_true',
                   help='measure only our engines again; rows of stock engines stay')
    p.add_argument('--document', action='store_true', help='only figures and tables, from the CSV')
    p.add_argument('--check', action='store_true', help='do the tables show what the CSV says?')
    args = p.parse_args()
    unknown = [n for n in args.names if n not in experiments.ALL and n != 'angara']
    if unknown:
        p.error('no experiment "%s"; --list names them' % unknown[0])
    return args


def run(names, folder, quick, ours=False):
    for name in names:
        workshop = Workshop(folder if ours else None)
        start = time.monotonic()
        try:
            for data in experiments.ALL[name](workshop, quick):
                if not data.rows:
                    sys.exit('%s: %s has no rows' % (name, data.name))
                data.write(folder)
        finally:
            workshop.close()
        print('%-12s %6.1f s' % (name, time.monotonic() - start), flush=True)


def angara(*words):
    """Figures 4, 5 and 6 of the Angara paper, its table 2 and run times"""
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'angara.py')] +
                   list(words), check=True)


def quick(names):
    """Everything there is, in miniature; what it measures is thrown away."""
    folder = tempfile.mkdtemp(prefix='osr-quick-')
    try:
        run(names, folder, True)
        if names == list(experiments.ALL):
            document.figures(folder, folder)
            document.tables(folder)
    finally:
        shutil.rmtree(folder)


def main():
    args = arguments()
    names = [n for n in args.names or experiments.ALL if n != 'angara']
    ask_angara = not args.names or 'angara' in args.names
    data, plots = os.path.join(DOCS, 'data'), os.path.join(DOCS, 'figures')
    text = os.path.join(DOCS, 'experiments.md')
    if args.list:
        for name in experiments.ALL:
            print('%-12s %s' % (name, experiments.ALL[name].__doc__.split('\n')[0]))
        print('%-12s %s' % ('angara', angara.__doc__))
        return
    if args.quick:
        quick(names)
        if 'angara' in args.names:
            angara('--quick')	# a test of its own
        return
    if args.check:
        sys.exit(0 if document.is_current(text, data) else 'docs/results/experiments.md shows other numbers '
                 'than docs/results/data: run scripts/experiments --document')
    os.makedirs(data, exist_ok=True)
    os.makedirs(plots, exist_ok=True)
    if not args.document:
        run(names, data, False, args.ours)
    missing = document.missing(data)
    if missing:
        print('no figures and tables yet: %s missing' % ', '.join(missing))
        return
    document.figures(data, plots)
    document.update(text, data)
    if ask_angara:
        angara(*['--document'] if args.document else ['desmos', 'tori', 'timing'])


if __name__ == '__main__':
    main()
