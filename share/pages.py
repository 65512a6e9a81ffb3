#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""pages.py SOURCES TARGET: the pages that are installed, in TARGET. A link to a page that is not among them becomes
its text."""
import os
import re
import sys

# What an administrator reads besides the man pages; the rest is in the sources.
PAGES = {'README.md': 'README.md', 'LICENSE': 'copyright', 'docs/output.tsv': 'docs/output.tsv'}
PAGES.update(('docs/%s.md' % name, 'docs/%s.md' % name) for name in (
    'admin', 'opensm-contract', 'reliability', 'routing-keys', 'security', 'CHANGELOG'))


def main():
    sources, target = sys.argv[1:]
    for page, installed in PAGES.items():
        def link(m):
            if re.match(r'#|https?:', m[2]):
                return m[0]
            path, _, place = m[2].partition('#')
            to = PAGES.get(os.path.normpath(os.path.join(os.path.dirname(page), path)))
            return m[1] if to is None else '[%s](%s%s)' % (
                m[1], os.path.relpath(to, os.path.dirname(installed) or '.'), '#' + place if place else '')

        with open(os.path.join(sources, page), encoding='utf-8') as file:
            text = file.read()
        to = os.path.join(target, installed)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, 'w', encoding='utf-8') as file:
            file.write(re.sub(r'\[([^]]*)\]\(([^)\s]+)\)', link, text) if page.endswith('.md') else text)
        os.chmod(to, 0o644)


main()
