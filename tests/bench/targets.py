# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The targets: each row says what was asked, what was measured, and pass or FAIL."""


class Row:
    def __init__(self, what, asked, measured, passed, timed=False):
        self.what, self.asked, self.measured, self.passed = what, asked, measured, passed
        self.timed = timed	# depends on the machine and on what else it does

    @property
    def verdict(self):
        return 'pass' if self.passed else 'FAIL'


def number(x, digits=3):
    """1234567 -> 1,234,567; small ones with about so many digits."""
    if x is None:
        return '-'
    if isinstance(x, int) or abs(x) >= 10 ** (digits - 1):
        return '{:,.0f}'.format(x)
    return '%.*g' % (digits, x)


def ratio(over, under):
    return over / under if under > 0 else float('inf')


def at_least(what, limit, value, timed=False):
    return Row(what, 'at least %s' % number(limit), number(value), value >= limit, timed)


def at_most(what, limit, value, timed=False, digits=3):
    return Row(what, 'at most %s' % number(limit, digits), number(value, digits), value <= limit,
               timed)


def rows_of(plan, got):
    """All rows of one fabric; got: {variant: Outcome}."""
    rows = [Row('%s: tables of %s' % (plan.title, key), 'made and checked', got[key].said or 'no',
                False) for key in got if not key.startswith('stock') and not got[key].ok]
    if rows:
        return rows
    rows = _routed(plan, got)
    if 'dfsssp' in got and 'stock dfsssp' in got:
        rows += _cost(plan, got) + _balance(plan, got) + _lanes(plan, got)
    if 'angara' in got:
        rows += _grid(plan, got['angara'], got.get('stock torus-2QoS'))
    if 'dmodk' in got:
        rows += _dmodk(plan, got)
    if 'sssp' in got:
        rows += _sssp(plan, got)
    for n in (1, 2, 4, 8):
        if 'dfsssp %d' % n in got:
            rows += _budget(plan, n, got['dfsssp %d' % n], got['stock nue %d' % n])
    return rows


def _routed(plan, got):
    lost = sum(got[k].tables['unreachable'] for k in got if not k.startswith('stock'))
    return [Row('%s: pairs of hosts without a path' % plan.title, '0', str(lost), lost == 0)]


def _cost(plan, got):
    stock, ours, minhop = got['stock dfsssp'], got['dfsssp'], got['stock minhop']
    rows = []
    if plan.least:
        rows.append(at_least('%s: CPU, stock dfsssp / ours' % plan.title, plan.least,
                             ratio(stock.ms, ours.ms), True))
    if stock.ok and plan.switches >= 64:
        rows.append(at_most('%s: CPU, ours / stock minhop' % plan.title, 1.0,
                            ratio(ours.ms, minhop.ms), True))
    if plan.memory:
        rows.append(at_least('%s: growth of peak memory, stock dfsssp / ours' % plan.title,
                             plan.memory, ratio(stock.kb, ours.kb), True))
    return rows


def _balance(plan, got):
    stock, ours = got['stock dfsssp'], got['dfsssp']
    efi = ours.tables['efi']
    rows = []
    if plan.efi:
        rows.append(at_most('%s: EFI' % plan.title, plan.efi, efi))
    if stock.ok:
        rows.append(at_most('%s: EFI, against stock dfsssp' % plan.title, stock.tables['efi'], efi))
        if ours.tables['rates'] > 1:
            rows.append(at_most('%s: EFI per capacity, against stock dfsssp' % plan.title,
                                stock.tables['efi_capacity'], ours.tables['efi_capacity']))
    return rows


def _lanes(plan, got):
    stock, ours = got['stock dfsssp'], got['dfsssp one-way']
    rows = []
    if plan.vls:
        rows.append(at_most('%s: VLs, one-way' % plan.title, plan.vls, ours.vls))
    if stock.ok:
        rows.append(at_most('%s: VLs, one-way, against stock dfsssp' % plan.title, stock.vls,
                            ours.vls))
    return rows


def over_average(tables):
    """Edge forwarding index over the average of a minimal routing."""
    return tables['efi'] / tables['efi_minimal'] if tables['efi_minimal'] else 0


def _dmodk(plan, got):
    ours, stock = got['dmodk'], got['stock ftree']
    rows = [at_most('%s: EFI of dmodk' % plan.title, plan.bound, ours.tables['efi'])]
    if stock.ok:
        rows.append(at_least('%s: CPU, stock ftree / dmodk' % plan.title, 5,
                             ratio(stock.ms, ours.ms), True))
    return rows


def after_fault(title, fault, limit, ms):
    return at_most('%s, without %s: ms of CPU until dmodk has routed it again' % (title, fault),
                   limit, ms, True)


def _sssp(plan, got):
    ours, stock = got['sssp'].tables, got['stock sssp'].tables
    rows = [at_most('%s: EFI of sssp, against stock sssp' % plan.title, stock['efi'], ours['efi'])]
    if plan.key == 'torus':
        rows.append(at_most('%s: EFI of sssp over the average' % plan.title, 1.15,
                            over_average(ours)))
    return rows


def _grid(plan, ours, stock):
    """Against the bound, and torus-2QoS in the same run where it serves."""
    efi, what = ours.tables['efi'], plan.title + ': angara, '
    rows = [at_most(what + 'EFI over the bound', 1.10, efi / plan.bound),
            Row(what + 'longer paths', '0', number(ours.tables['longer']), ours.tables['longer'] == 0),
            at_most(what + 'VLs', 2, ours.used_vls)]
    if not stock or not stock.ok:
        return rows
    # In meshes dimension order is at the bound, whoever does it.
    bound = stock.tables['efi'] <= plan.bound
    rows.append(Row(what + 'EFI, against torus-2QoS', ('at most %s, the bound' if bound else 'below %s') %
                    number(stock.tables['efi']), number(efi), efi < stock.tables['efi'] + bound))
    if ours.ebb is not None and stock.ebb is not None:
        rows.append(Row(what + 'eBB, against torus-2QoS', ('at least %.3f' if bound else 'above %.3f') %
                        stock.ebb, '%.3f' % ours.ebb, ours.ebb > stock.ebb or bound and ours.ebb == stock.ebb))
    return rows + [at_most(what + 'CPU, ours / torus-2QoS', 1.0, ratio(ours.ms, stock.ms), True)]


def longer(tables):
    return 100.0 * tables['longer'] / tables['pairs']


def percent(tables):
    """Of pairs with longer paths, with digits enough to tell few from none."""
    return '%.*f %%' % (1 if longer(tables) >= 1 else 3, longer(tables)) if tables['longer'] else '0'


def _balance_by_budget(what, plan, n, ours, nue):
    limit, why = over_average(nue) / 2, 'half of nue'
    if plan.efi_by_budget and n >= 4:
        limit, why = plan.efi_by_budget / ours['efi_minimal'], '1.05 of the bound'
    elif limit < plan.cut / ours['efi_minimal']:
        why += ', below the %.2f that some cable has in any routing' % (
            plan.cut / ours['efi_minimal'])
    elif plan.bound and limit < plan.bound / ours['efi_minimal']:
        why += ', below the bound of minimal routing, %.2f' % (plan.bound / ours['efi_minimal'])
    return Row(what + 'EFI / average', 'at most %.2f (%s)' % (limit, why),
               '%.2f' % over_average(ours), over_average(ours) <= limit)


def _budget(plan, n, ours, nue):
    what = '%s, budget %d: ' % (plan.title, n)
    ot, nt = ours.tables, nue.tables
    wide = plan.key.startswith('random')
    rows = [Row(what + 'longer paths', 'at most %.1f %% (half of nue)' % (longer(nt) / 2),
                percent(ot), ot['longer'] <= nt['longer'] / 2)]
    if ours.ebb is not None and nue.ebb is not None:
        rows.append(Row(what + 'eBB', 'above %.3f (nue)' % nue.ebb, '%.3f' % ours.ebb,
                        ours.ebb > nue.ebb))
    rows.append(_balance_by_budget(what, plan, n, ot, nt))
    rows.append(at_most(what + 'CPU, ours / nue', 1.0 if wide else 0.2, ratio(ours.ms, nue.ms),
                        True))
    if plan.key == 'torus' and n == 8:
        rows.append(Row(what + 'longer paths', '0', number(ot['longer']), ot['longer'] == 0))
        rows.append(at_most(what + 'EFI / average', 1.15, over_average(ot)))
    return rows


def random128(plan, got):
    """No longer path and an EFI no worse than stock sssp, on 4 VLs."""
    four = got['dfsssp 4'].tables
    what = plan.title + ', budget 4: '
    return [Row(what + 'longer paths', '0', number(four['longer']), four['longer'] == 0),
            at_most(what + 'EFI, against stock sssp', got['stock sssp'].tables['efi'], four['efi'])]


def offline(title, wall_ms, kb):
    return [at_most(title + ': seconds, routing and check', 10, wall_ms / 1e3, True),
            at_most(title + ': seconds, routing and check, second goal', 3, wall_ms / 1e3, True),
            at_most(title + ': MB', 1000, kb / 1e3), at_most(title + ': MB, second goal', 600,
                                                             kb / 1e3)]
