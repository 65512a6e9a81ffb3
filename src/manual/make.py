# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Writes all that is generated from the option tables:

    make.py --tables OSR-TABLES --docs DOCS --out DIR [--lowdown LOWDOWN]

DIR gets osmroutes.1, osmroutes.conf.5 and osmroutes-ENGINE.7 (with lowdown only), the completion
osmroutes.bash, the commented osmroutes.conf, and tables.json, which all of these are made of.
"""
import argparse
import json
import os
import subprocess

import completion
import example
import manual


def read_tables(program):
    """What osr-tables says."""
    return json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def to_roff(lowdown, page):
    """The title, section and source of a page are in its head, so no option is needed for them."""
    run = subprocess.run([lowdown, '-s', '-tman', '--out-no-smarty', '--parse-no-super', '-'], input=page, check=True,
                         capture_output=True, text=True)
    return manual.polish(run.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tables', required=True)
    parser.add_argument('--docs', required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--lowdown', default='')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    tables = read_tables(args.tables)
    write(os.path.join(args.out, 'tables.json'), json.dumps(tables, indent=1, sort_keys=True) + '\n')
    write(os.path.join(args.out, 'osmroutes.bash'), completion.script(tables))
    write(os.path.join(args.out, 'osmroutes.conf'), example.config(tables))
    for name, page in manual.pages(tables, args.docs):
        write(os.path.join(args.out, name + '.md'), page)
        if args.lowdown and 'NOTFOUND' not in args.lowdown:
            write(os.path.join(args.out, name), to_roff(args.lowdown, page))
    write(os.path.join(args.out, 'done'), '')


main()
