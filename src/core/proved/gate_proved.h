/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Extracted from proved.mlw by scripts/prove --extract: not to be edited. */
/* clang-format off */
#include <stdint.h>


struct tab {
  int32_t n_sw;
  int32_t n_dest;
  int32_t n_chan;
  int32_t n_port;
  int32_t n_entry;
  int32_t n_slot;
  int32_t n_lane;
  int32_t n_q;
  int32_t n_gen;
  int32_t * c_src;
  int32_t * c_dst;
  int32_t * c_port;
  int32_t * c_row;
  int32_t * c_col;
  int32_t * c_rev;
  int32_t * c_vls;
  int32_t * c_tree;
  int32_t * s_first;
  int32_t * s_ports;
  int32_t * s_comp;
  int32_t * s_sends;
  int32_t * p_chan;
  int32_t * e_sw;
  int32_t * e_row;
  unsigned char * slot0;
  unsigned char * slot1;
  int32_t * k_rank;
  int32_t * k_first;
  int32_t * k_mheld;
  int32_t * k_lane;
  uint16_t * k_answers;
  uint16_t * k_asked;
  int32_t m_lane;
  int f_mcast;
  int f_any;
  int f_replies;
  int f_flat;
};

struct row {
  int32_t dest;
  int32_t r_home;
  int32_t r_exit;
  int f_asks;
  int f_more;
  int f_all;
  unsigned char * lft0;
  unsigned char * lft1;
  unsigned char * r_sl;
  uint16_t * r_more;
  uint16_t * k_pass;
  int32_t * k_held;
  int32_t * k_left;
};

static inline int32_t rd(int32_t * p, int32_t i) {
  return p[i];
}

static inline int32_t rdb(unsigned char * p, int32_t i) {
  return (int32_t)p[i];
}

static inline int rdh(uint16_t * p, int32_t i, int32_t q) {
  return p[i] >> q & 1;
}

static inline int32_t cell(int32_t a, int32_t b, int32_t m) {
  return a * m + b;
}

static inline int32_t rank_of(struct tab t, int32_t c, int32_t l) {
  return rd(t.k_rank, cell(c, l, t.n_lane));
}

static inline int32_t first_of(struct tab t, int32_t c, int32_t q) {
  return rd(t.k_first, cell(c, q, t.n_q));
}

static inline int32_t mheld_of(struct tab t, int32_t c, int32_t q) {
  return rd(t.k_mheld, cell(c, q, t.n_q));
}

static inline int32_t lane_of(struct tab t, int32_t x, int32_t r, int32_t p, int32_t q) {
  int32_t j, z;
  if (r < 0 || (p < 0 || (p >= t.n_slot || r >= t.n_slot - p))) {
    return -1;
  }
  j = r + p;
  z = cell(j, q, t.n_q);
  if (x == 0) {
    return rdb(t.slot0, z);
  } else {
    return rdb(t.slot1, z);
  }
}

static inline int32_t leads_to(struct tab t, int32_t s, int32_t p) {
  int32_t m, i;
  m = rd(t.s_ports, s);
  if (p >= m) {
    return -1;
  }
  i = rd(t.s_first, s) + p;
  return rd(t.p_chan, i);
}

static inline int turn_check(struct tab t, int32_t x, int32_t c, int32_t e, int32_t q,
               int32_t low, int32_t high) {
  int32_t a, b, m, r;
  a = rd(t.c_row, c);
  b = rd(t.c_col, e);
  m = lane_of(t, x, a, b, q);
  if (m < 0 || m >= rd(t.c_vls, e)) {
    return 0;
  }
  r = rank_of(t, e, m);
  if (low < r) {
    return r <= high;
  } else {
    return 0;
  }
}

static inline int32_t next(struct tab t, struct row r, int32_t g, int32_t s) {
  return leads_to(t, s, g == 0 ? rdb(r.lft0, s) : rdb(r.lft1, s));
}

static inline int32_t held_of(struct tab t, struct row r, int32_t g, int32_t s, int32_t q,
                int32_t c) {
  if (t.f_flat) {
    return rank_of(t, c, rd(t.k_lane, q));
  } else {
    return rd(r.k_held, cell(cell(g, q, t.n_q), s, t.n_sw));
  }
}

static inline int pass_at(struct tab t, struct row r, int32_t s, int32_t q) {
  if (r.f_all) {
    return 1;
  } else {
    return rdh(r.k_pass, s, q);
  }
}

static inline int meets_at(struct tab t, struct row r, int32_t s) {
  if (!(s == r.r_home)) {
    if (rd(t.s_comp, s) == rd(t.s_comp, r.r_home)) {
      if (r.f_asks) {
        return 1;
      } else {
        return !(rd(t.s_sends, s) == 0);
      }
    } else {
      return 0;
    }
  } else {
    return 0;
  }
}

static inline int request_at(struct tab t, struct row r, int32_t s, int32_t q) {
  if (rdb(r.r_sl, s) == q) {
    return 1;
  } else {
    if (r.f_more) {
      return rdh(r.r_more, s, q);
    } else {
      return 0;
    }
  }
}

static inline int allowed_at(struct tab t, struct row r, int32_t s, int32_t q) {
  if (!meets_at(t, r, s)) {
    return 0;
  }
  if (t.f_any || request_at(t, r, s, q)) {
    return 1;
  }
  if (t.f_replies) {
    if (r.f_asks) {
      if (!(rd(t.s_sends, r.r_home) == 0)) {
        return rdh(t.k_answers, cell(r.r_home, s, t.n_sw), q);
      } else {
        return 0;
      }
    } else {
      return 0;
    }
  } else {
    return 0;
  }
}

static inline int goes_on(struct tab t, struct row r, int32_t y, int32_t v, int32_t q,
            int32_t c, int32_t h) {
  int32_t e, high;
  e = next(t, r, y, v);
  if (e < 0) {
    return 1;
  }
  high = held_of(t, r, y, v, q, e);
  if (turn_check(t, 0, c, e, q, h, high)) {
    if (t.n_gen < 2) {
      return 1;
    } else {
      return turn_check(t, 1, c, e, q, h, high);
    }
  } else {
    return 0;
  }
}

static inline int hop_check(struct tab t, struct row r, int32_t g, int32_t s, int32_t q,
              int own) {
  int32_t c, h, v;
  c = next(t, r, g, s);
  if (c < 0) {
    return t.n_gen == 2;
  }
  h = held_of(t, r, g, s, q, c);
  if (own && (first_of(t, c, q) == 0x7FFFFFFF || first_of(t, c, q) > h)) {
    return 0;
  }
  v = rd(t.c_dst, c);
  if (v == r.r_home) {
    return 1;
  }
  if (!pass_at(t, r, v, q) || !goes_on(t, r, 0, v, q, c, h)) {
    return 0;
  }
  if (t.n_gen < 2) {
    return 1;
  } else {
    return goes_on(t, r, 1, v, q, c, h);
  }
}

static inline int away_check(struct tab t, struct row r, int32_t s) {
  if (rdb(r.lft0, s) == 255) {
    if (t.n_gen < 2) {
      return 1;
    } else {
      return rdb(r.lft1, s) == 255;
    }
  } else {
    return 0;
  }
}

static inline int entry_check(struct tab t, struct row r, int32_t s, int32_t q) {
  int own;
  if (!(rd(t.s_comp, s) == rd(t.s_comp, r.r_home))) {
    return away_check(t, r, s);
  }
  own = allowed_at(t, r, s, q);
  if (!pass_at(t, r, s, q)) {
    return !own;
  }
  if (!hop_check(t, r, 0, s, q, own)) {
    return 0;
  }
  if (t.n_gen < 2) {
    return 1;
  } else {
    return hop_check(t, r, 1, s, q, own);
  }
}

static inline int row_check(struct tab t, struct row r) {
  int32_t q, o, s, o1;
  o = t.n_q - 1;
  if (0 <= o) {
    for (q = 0; ; ++q) {
      o1 = t.n_sw - 1;
      if (0 <= o1) {
        for (s = 0; ; ++s) {
          if (!(s == r.r_home) && !entry_check(t, r, s, q)) {
            return 0;
          }
          if (s == o1) {
            break;
          }
        }
      }
      if (q == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int level_check(struct tab t, struct row r, int32_t h) {
  int32_t q, o;
  if (!(rd(t.s_comp, h) == rd(t.s_comp, r.r_home))) {
    return 1;
  }
  if (!t.f_any && rdb(r.r_sl, h) >= t.n_q) {
    return 0;
  }
  if (t.f_replies && (meets_at(t, r, h) && !(rd(t.s_sends, h) == 0))) {
    o = t.n_q - 1;
    if (0 <= o) {
      for (q = 0; ; ++q) {
        if (request_at(t, r, h, q) && !rdh(t.k_asked,
                                       cell(r.r_home, h, t.n_sw), q)) {
          return 0;
        }
        if (q == o) {
          break;
        }
      }
    }
  }
  return 1;
}

static inline int levels_check(struct tab t, struct row r) {
  int32_t h, o;
  o = t.n_sw - 1;
  if (0 <= o) {
    for (h = 0; ; ++h) {
      if (!level_check(t, r, h)) {
        return 0;
      }
      if (h == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int left_at(struct tab t, struct row r, int32_t s) {
  int32_t c, v, l;
  if (!(rd(t.s_comp, s) == rd(t.s_comp, r.r_home))) {
    return away_check(t, r, s);
  }
  c = next(t, r, 0, s);
  if (c < 0) {
    return 0;
  }
  v = rd(t.c_dst, c);
  if (v == r.r_home) {
    return 1;
  }
  l = rd(r.k_left, v);
  if (0 <= l) {
    return l < rd(r.k_left, s);
  } else {
    return 0;
  }
}

static inline int reach_check(struct tab t, struct row r) {
  int32_t s, o;
  if (!(rdb(r.lft0, r.r_home) == r.r_exit)) {
    return 0;
  }
  o = t.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      if (!(s == r.r_home) && !left_at(t, r, s)) {
        return 0;
      }
      if (s == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int dest_check(struct tab t, struct row r) {
  if (!row_check(t, r)) {
    return 0;
  }
  if ((!t.f_any || t.f_replies) && !levels_check(t, r)) {
    return 0;
  }
  if (t.n_gen == 2) {
    return 1;
  }
  if (!r.f_all) {
    return reach_check(t, r);
  }
  return rdb(r.lft0, r.r_home) == r.r_exit;
}

static inline int port_check(struct tab t, int32_t s) {
  int32_t b, m, p, o, c;
  b = rd(t.s_first, s);
  m = rd(t.s_ports, s);
  if (b < 0 || (m < 0 || (m > 255 || (m > t.n_port || b > t.n_port - m)))) {
    return 0;
  }
  o = m - 1;
  if (0 <= o) {
    for (p = 0; ; ++p) {
      c = leads_to(t, s, p);
      if (c >= 0 && (c >= t.n_chan || !(rd(t.c_src, c) == s))) {
        return 0;
      }
      if (p == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int chan_check(struct tab t, int32_t c) {
  int32_t s, v, p, l;
  s = rd(t.c_src, c);
  v = rd(t.c_dst, c);
  p = rd(t.c_port, c);
  l = rd(t.c_vls, c);
  if (s < 0 || (s >= t.n_sw || (v < 0 || (v >= t.n_sw || (p < 0 || (l < 0 || l >
                                                                    t.n_lane)))))) {
    return 0;
  }
  if (rd(t.s_comp, s) == rd(t.s_comp, v)) {
    return leads_to(t, s, p) == c;
  } else {
    return 0;
  }
}

static inline int wired_check(struct tab t) {
  int32_t s, o, c, o1, q, o2, l;
  o = t.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      if (!port_check(t, s)) {
        return 0;
      }
      if (s == o) {
        break;
      }
    }
  }
  o1 = t.n_chan - 1;
  if (0 <= o1) {
    for (c = 0; ; ++c) {
      if (!chan_check(t, c)) {
        return 0;
      }
      if (c == o1) {
        break;
      }
    }
  }
  o2 = t.n_q - 1;
  if (0 <= o2) {
    for (q = 0; ; ++q) {
      l = rd(t.k_lane, q);
      if (l < 0 || l >= t.n_lane) {
        return 0;
      }
      if (q == o2) {
        break;
      }
    }
  }
  return 1;
}

static inline int32_t ml_of(struct tab t, int32_t x, int32_t r, int32_t p, int32_t q) {
  if (t.m_lane >= 0) {
    return t.m_lane;
  } else {
    return lane_of(t, x, r, p, q);
  }
}

static inline int first_check(struct tab t, int32_t h, int32_t c, int32_t x, int32_t q) {
  int32_t f, r, p, l;
  f = first_of(t, c, q);
  if (f == 0x7FFFFFFF) {
    return 1;
  }
  r = rd(t.e_row, h);
  p = rd(t.c_col, c);
  l = lane_of(t, x, r, p, q);
  if (l < 0 || l >= rd(t.c_vls, c)) {
    return 0;
  }
  return rank_of(t, c, l) <= f;
}

static inline int in_check(struct tab t, int32_t h, int32_t c, int32_t x, int32_t q) {
  int32_t r, p, m;
  if (!first_check(t, h, c, x, q)) {
    return 0;
  }
  if (!t.f_mcast || rd(t.c_tree, c) == 0) {
    return 1;
  }
  r = rd(t.e_row, h);
  p = rd(t.c_col, c);
  m = ml_of(t, x, r, p, q);
  if (m < 0 || m >= t.n_lane) {
    return 0;
  }
  return rank_of(t, c, m) <= mheld_of(t, c, q);
}

static inline int on_check(struct tab t, int32_t c, int32_t e, int32_t x, int32_t q) {
  int32_t a, b, m, r;
  a = rd(t.c_row, c);
  b = rd(t.c_col, e);
  m = ml_of(t, x, a, b, q);
  if (m < 0 || m >= t.n_lane) {
    return 0;
  }
  r = rank_of(t, e, m);
  if (mheld_of(t, c, q) < r) {
    return r <= mheld_of(t, e, q);
  } else {
    return 0;
  }
}

static inline int fan_check(struct tab t, int32_t h, int32_t c, int32_t s) {
  int32_t p, o, e, x, o1, q, o2;
  int cond, cond1;
  o = rd(t.s_ports, s) - 1;
  if (0 <= o) {
    for (p = 0; ; ++p) {
      e = leads_to(t, s, p);
      if (e >= 0 && (c < 0 || (!(rd(t.c_tree, e) == 0) && !(e == rd(t.c_rev,
                                                                 c))))) {
        o1 = t.n_gen - 1;
        if (0 <= o1) {
          for (x = 0; ; ++x) {
            o2 = t.n_q - 1;
            if (0 <= o2) {
              for (q = 0; ; ++q) {
                if (c < 0) {
                  cond1 = in_check(t, h, e, x, q);
                } else {
                  cond1 = on_check(t, c, e, x, q);
                }
                if (cond1) {
                  cond = 0;
                } else {
                  cond = 1;
                }
                if (cond) {
                  return 0;
                }
                if (q == o2) {
                  break;
                }
              }
            }
            if (x == o1) {
              break;
            }
          }
        }
      }
      if (p == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int mirror_check(struct tab t, int32_t h, int32_t s) {
  int32_t there, back, q, o;
  there = cell(s, h, t.n_sw);
  back = cell(h, s, t.n_sw);
  o = t.n_q - 1;
  if (0 <= o) {
    for (q = 0; ; ++q) {
      if (rdh(t.k_asked, there, q) && !rdh(t.k_answers, back, q)) {
        return 0;
      }
      if (q == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int entries_check(struct tab t) {
  int32_t h, o, s;
  o = t.n_entry - 1;
  if (0 <= o) {
    for (h = 0; ; ++h) {
      s = rd(t.e_sw, h);
      if (s < 0 || s >= t.n_sw) {
        return 0;
      }
      if (!fan_check(t, h, -1, s)) {
        return 0;
      }
      if (h == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int tree_check(struct tab t) {
  int32_t c, o, v;
  o = t.n_chan - 1;
  if (0 <= o) {
    for (c = 0; ; ++c) {
      if (!(rd(t.c_tree, c) == 0)) {
        v = rd(t.c_dst, c);
        if (!fan_check(t, 0, c, v)) {
          return 0;
        }
      }
      if (c == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int mirrors_check(struct tab t) {
  int32_t h, o, s, o1;
  o = t.n_sw - 1;
  if (0 <= o) {
    for (h = 0; ; ++h) {
      o1 = t.n_sw - 1;
      if (0 <= o1) {
        for (s = 0; ; ++s) {
          if (!mirror_check(t, h, s)) {
            return 0;
          }
          if (s == o1) {
            break;
          }
        }
      }
      if (h == o) {
        break;
      }
    }
  }
  return 1;
}

static inline int fabric_check(struct tab t) {
  if (!entries_check(t)) {
    return 0;
  }
  if (t.f_mcast && !tree_check(t)) {
    return 0;
  }
  if (!t.f_replies) {
    return 1;
  } else {
    return mirrors_check(t);
  }
}
