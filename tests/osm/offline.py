# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The command beside the running plugin: with the same opensm.conf it says which tables the plugin has."""
from judge import Claims, expect
from osmtest import osmroutes, running


def command(opensm, *words):
    """Where opensm runs, so that the paths in its configuration mean the same."""
    return osmroutes(*words, '--opensm-conf', opensm.conf, cwd=opensm.dir)


def digest(opensm, *words):
    found = command(opensm, 'route', *words)
    return found['results'][0]['digest'], found['vls_available'], found['results'][0]['efi_bound']


def compare(what, opensm, *words):
    got, vls, bound = digest(opensm, *words)
    live = Claims(opensm.log)
    expect(got == live.digest, '%s: the command says %s, and the plugin %s' % (what, got, live.digest))
    expect(vls == live.budget, '%s: %d virtual lanes, and in the plugin %d' % (what, vls, live.budget))
    expect(bound == live.efi_bound, '%s: least load %d, and in the plugin %d' % (what, bound, live.efi_bound))
    return got
