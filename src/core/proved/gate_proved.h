/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Extracted from proved.mlw by scripts/prove --extract: not to be edited. */
/* clang-format off */
#include <stdint.h>


struct tab {
  int32_t n_sw;
  int32_t n_port;
  int32_t n_dest;
  int32_t n_slot;
  int32_t n_lane;
  int32_t n_q;
  int32_t * hot;
  int32_t width;
  int32_t * cold;
  int32_t more;
  int32_t * sws;
  unsigned char * slots;
  uint16_t * k_answers;
  int32_t m_lane;
  int f_replies;
  int f_flat;
};

struct row {
  int32_t dest;
  int32_t r_home;
  int32_t r_exit;
  int f_host;
  int f_whole;
  unsigned char * lft;
  uint16_t * levels;
  uint16_t * k_pass;
  int32_t * k_held;
};

static inline __attribute__((always_inline)) int32_t rdb(unsigned char * p, int32_t i) {
  return (int32_t)p[i];
}

static inline __attribute__((always_inline)) uint16_t rdh(uint16_t * p, int32_t i) {
  return p[i];
}

static inline __attribute__((always_inline)) int32_t cell(int32_t a, int32_t b, int32_t m) {
  return a * m + b;
}

static inline __attribute__((always_inline)) int32_t elem(struct tab tab, int32_t * p, int32_t w, int32_t s, int32_t o,
             int32_t j) {
  return p[cell(cell(s, o, tab.n_port), j, w)];
}

static inline __attribute__((always_inline)) int32_t hot_at(struct tab tab, int32_t s, int32_t o, int32_t j) {
  return elem(tab, tab.hot, tab.width, s, o, j);
}

static inline __attribute__((always_inline)) int32_t cold_at(struct tab tab, int32_t s, int32_t o, int32_t j) {
  return elem(tab, tab.cold, tab.more, s, o, j);
}

static inline __attribute__((always_inline)) int32_t of_sw(struct tab tab, int32_t s, int32_t j) {
  return tab.sws[cell(s, j, 2)];
}

static inline __attribute__((always_inline)) int32_t lane_of(struct tab tab, int32_t r, int32_t o, int32_t q) {
  int32_t i;
  i = r + o;
  return rdb(tab.slots, cell(i, q, tab.n_q));
}

static inline __attribute__((always_inline)) int32_t copy_of(struct tab tab, int32_t r, int32_t o, int32_t q) {
  if (tab.m_lane >= 0) {
    return tab.m_lane;
  } else {
    return lane_of(tab, r, o, q);
  }
}

static inline __attribute__((always_inline)) int32_t rank_in(struct tab tab, int32_t s, int32_t o, int32_t l, int32_t bound) {
  int32_t x;
  if (l >= hot_at(tab, s, o, 2)) {
    return 0x7FFFFFFF;
  }
  x = hot_at(tab, s, o, 3 + l);
  if (x <= bound) {
    return x;
  } else {
    return 0x7FFFFFFF;
  }
}

static inline __attribute__((always_inline)) int32_t behind(struct tab tab, int32_t s, int32_t o) {
  if (o >= tab.n_port) {
    return -1;
  }
  return hot_at(tab, s, o, 0);
}

static inline __attribute__((always_inline)) int32_t held_at(struct tab tab, struct row row, int32_t s, int32_t q) {
  return row.k_held[cell(q, s, tab.n_sw)];
}

static inline __attribute__((always_inline)) int32_t held_of(struct tab tab, struct row row, int32_t s, int32_t o, int32_t q) {
  if (tab.f_flat) {
    return hot_at(tab, s, o, 3 + q);
  } else {
    return held_at(tab, row, s, q);
  }
}

static inline __attribute__((always_inline)) int32_t copies_at(struct tab tab, int32_t s, int32_t o, int32_t q) {
  return cold_at(tab, s, o, 4 + q);
}

static inline __attribute__((always_inline)) int meets_at(struct tab tab, struct row row, int32_t s) {
  if (!(s == row.r_home)) {
    if (row.f_host) {
      return 1;
    } else {
      return !(of_sw(tab, s, 1) == 0);
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) uint16_t answers_of(struct tab tab, int32_t h, int32_t s) {
  return rdh(tab.k_answers, cell(h, s, tab.n_sw));
}

static inline __attribute__((always_inline)) int level_check(struct tab tab, struct row row, int32_t s) {
  uint16_t l;
  int32_t q;
  l = rdh(row.levels, s);
  q = (__builtin_ctz((1u << 16 | l) & ~0u << (0)));
  if (q >= tab.n_q || !((l & ~(((1u << ((tab.n_q))) - 1u))) == 0)) {
    return 0;
  }
  if (!tab.f_replies) {
    return 1;
  } else {
    if (!meets_at(tab, row, s)) {
      return 1;
    } else {
      if (of_sw(tab, s, 1) == 0) {
        return 1;
      } else {
        return (l & ~answers_of(tab, s, row.r_home)) == 0;
      }
    }
  }
}

static inline __attribute__((always_inline)) uint16_t allowed_at(struct tab tab, struct row row, int32_t s) {
  uint16_t l;
  if (!meets_at(tab, row, s)) {
    return (((1u << (0)) - 1u));
  }
  l = rdh(row.levels, s);
  if (tab.f_replies && (row.f_host && !(of_sw(tab, row.r_home, 1) == 0))) {
    return ((l | (answers_of(tab, row.r_home, s))));
  } else {
    return l;
  }
}

static inline __attribute__((always_inline)) int hop_check(struct tab tab, struct row r, struct row o, int32_t s, int32_t p,
              int32_t v, int32_t q, int own) {
  int32_t low, f, e, l, x;
  low = held_of(tab, r, s, p, q);
  f = hot_at(tab, s, p, 3 + tab.n_lane + q);
  if (own && (f == 0x7FFFFFFF || f > low)) {
    return 0;
  }
  if (!(rdh(o.k_pass, v) >> q & 1)) {
    return 0;
  }
  e = rdb(o.lft, v);
  if (behind(tab, v, e) < 0) {
    return 1;
  }
  l = lane_of(tab, hot_at(tab, s, p, 1), e, q);
  x = rank_in(tab, v, e, l, held_of(tab, o, v, e, q));
  if (low < x) {
    return x < 0x7FFFFFFF;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int hops_check(struct tab tab, struct row r, struct row o, int32_t s,
               int32_t p, int32_t v) {
  uint16_t own, m;
  int32_t q;
  int32_t z;
  own = allowed_at(tab, r, s);
  m = rdh(r.k_pass, s);
  if (!((own & ~m) == 0)) {
    return 0;
  }
  q = (__builtin_ctz((1u << 16 | m) & ~0u << (0)));
  while (q < tab.n_q) {
    if (!hop_check(tab, r, o, s, p, v, q, own >> q & 1)) {
      return 0;
    }
    z = (__builtin_ctz((1u << 16 | m) & ~0u << ((q + 1))));
    q = z;
  }
  return 1;
}

static inline __attribute__((always_inline)) int switch_check(struct tab tab, struct row r, struct row o, int32_t s) {
  int32_t p, v;
  p = rdb(r.lft, s);
  if (!(of_sw(tab, s, 0) == of_sw(tab, r.r_home, 0))) {
    if (!r.f_whole) {
      return 1;
    } else {
      return p == 255;
    }
  }
  if (!level_check(tab, r, s)) {
    return 0;
  }
  v = behind(tab, s, p);
  if (v < 0) {
    if (s == r.r_home) {
      return 1;
    } else {
      return !r.f_whole;
    }
  } else {
    return hops_check(tab, r, o, s, p, v);
  }
}

static inline __attribute__((always_inline)) int dest_check(struct tab tab, struct row r, struct row o) {
  int32_t s, o1;
  if (!(r.r_home == o.r_home)) {
    return 0;
  }
  if (r.f_whole && !(rdb(r.lft, r.r_home) == r.r_exit)) {
    return 0;
  }
  o1 = tab.n_sw - 1;
  if (0 <= o1) {
    for (s = 0; ; ++s) {
      if (!switch_check(tab, r, o, s)) {
        return 0;
      }
      if (s == o1) {
        break;
      }
    }
  }
  return 1;
}

static inline __attribute__((always_inline)) int port_check(struct tab tab, int32_t s, int32_t o) {
  int32_t v, i, own, r;
  v = hot_at(tab, s, o, 0);
  i = cold_at(tab, s, o, 0);
  own = cold_at(tab, s, o, 1);
  if (own < 0 || (own > tab.n_slot - tab.n_port || hot_at(tab, s, o, 2) > tab.n_lane)) {
    return 0;
  }
  if (v < 0) {
    return 1;
  }
  if (v >= tab.n_sw || (i < 0 || (i >= tab.n_port || !(of_sw(tab, s, 0) ==
                                                 of_sw(tab, v, 0))))) {
    return 0;
  }
  r = hot_at(tab, s, o, 1);
  if (r == cold_at(tab, v, i, 1)) {
    if (0 <= r) {
      return r <= tab.n_slot - tab.n_port;
    } else {
      return 0;
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int wired_check(struct tab tab) {
  int32_t s, o, o1, o2;
  o = tab.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      o2 = tab.n_port - 1;
      if (0 <= o2) {
        for (o1 = 0; ; ++o1) {
          if (!port_check(tab, s, o1)) {
            return 0;
          }
          if (o1 == o2) {
            break;
          }
        }
      }
      if (s == o) {
        break;
      }
    }
  }
  if (!tab.f_flat) {
    return 1;
  } else {
    return tab.n_q <= tab.n_lane;
  }
}

static inline __attribute__((always_inline)) int in_check(struct tab tab, int32_t s, int32_t i, int32_t o, int32_t q) {
  int32_t r, f, x, m;
  r = cold_at(tab, s, i, 1);
  f = hot_at(tab, s, o, 3 + tab.n_lane + q);
  if (behind(tab, s, o) < 0) {
    return 1;
  }
  x = rank_in(tab, s, o, lane_of(tab, r, o, q), f);
  if (!(f == 0x7FFFFFFF) && x == 0x7FFFFFFF) {
    return 0;
  }
  m = rank_in(tab, s, o, copy_of(tab, r, o, q), copies_at(tab, s, o, q));
  if (!(m == 0x7FFFFFFF)) {
    return 1;
  } else {
    return cold_at(tab, s, o, 3) == 0;
  }
}

static inline __attribute__((always_inline)) int on_check(struct tab tab, int32_t s, int32_t c, int32_t o, int32_t q) {
  int32_t v, x;
  v = behind(tab, s, c);
  if (v < 0) {
    return 1;
  }
  if (cold_at(tab, v, o, 3) == 0 || cold_at(tab, s, c, 0) == o) {
    return 1;
  }
  x = rank_in(tab, v, o, copy_of(tab, hot_at(tab, s, c, 1), o, q),
      copies_at(tab, v, o, q));
  if (!(x == 0x7FFFFFFF)) {
    return copies_at(tab, s, c, q) < x;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int fan_check(struct tab tab, int32_t s, int32_t c) {
  int32_t o, o1, q, o2;
  o1 = tab.n_port - 1;
  if (0 <= o1) {
    for (o = 0; ; ++o) {
      o2 = tab.n_q - 1;
      if (0 <= o2) {
        for (q = 0; ; ++q) {
          if (!(cold_at(tab, s, c, 2) == 0) && !in_check(tab, s, c, o, q)) {
            return 0;
          }
          if (!(cold_at(tab, s, c, 3) == 0) && !on_check(tab, s, c, o, q)) {
            return 0;
          }
          if (q == o2) {
            break;
          }
        }
      }
      if (o == o1) {
        break;
      }
    }
  }
  return 1;
}

static inline __attribute__((always_inline)) int fabric_check(struct tab tab) {
  int32_t s, o, c, o1;
  o = tab.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      o1 = tab.n_port - 1;
      if (0 <= o1) {
        for (c = 0; ; ++c) {
          if ((!(cold_at(tab, s, c, 2) == 0) || !(cold_at(tab, s, c, 3) == 0)) &&
              !fan_check(tab, s, c)) {
            return 0;
          }
          if (c == o1) {
            break;
          }
        }
      }
      if (s == o) {
        break;
      }
    }
  }
  return 1;
}
