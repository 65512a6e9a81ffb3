/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Extracted from proved.mlw by scripts/prove --extract: not to be edited. */
/* clang-format off */
#include <stdint.h>


struct tab {
  int32_t n_sw;
  int32_t n_dest;
  int32_t n_chan;
  int32_t n_entry;
  int32_t n_slot;
  int32_t n_lane;
  int32_t n_q;
  int32_t * chans;
  int32_t width;
  int32_t * sws;
  int32_t * ents;
  unsigned char * slots;
  uint16_t * k_answers;
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
  int f_whole;
  int f_more;
  unsigned char * lft;
  unsigned char * r_sl;
  uint16_t * r_more;
  int32_t * k_next;
  uint16_t * k_pass;
  int32_t * k_held;
};

static inline __attribute__((always_inline)) int32_t rd(int32_t * p, int32_t i) {
  return p[i];
}

static inline __attribute__((always_inline)) int32_t rdb(unsigned char * p, int32_t i) {
  return (int32_t)p[i];
}

static inline __attribute__((always_inline)) uint16_t rdh(uint16_t * p, int32_t i) {
  return p[i];
}

static inline __attribute__((always_inline)) int32_t cell(int32_t a, int32_t b, int32_t m) {
  return a * m + b;
}

static inline __attribute__((always_inline)) int32_t of_chan(struct tab t, int32_t c, int32_t j) {
  return rd(t.chans, cell(c, j, t.width));
}

static inline __attribute__((always_inline)) int32_t of_sw(struct tab t, int32_t s, int32_t j) {
  return rd(t.sws, cell(s, j, 4));
}

static inline __attribute__((always_inline)) int32_t of_entry(struct tab t, int32_t h, int32_t j) {
  return rd(t.ents, cell(h, j, 2));
}

static inline __attribute__((always_inline)) int32_t rank_of(struct tab t, int32_t c, int32_t l) {
  return of_chan(t, c, 6 + l);
}

static inline __attribute__((always_inline)) int32_t first_of(struct tab t, int32_t c, int32_t q) {
  return of_chan(t, c, 6 + t.n_lane + q);
}

static inline __attribute__((always_inline)) int32_t mheld_of(struct tab t, int32_t c, int32_t q) {
  return of_chan(t, c, 6 + t.n_lane + t.n_q + q);
}

static inline __attribute__((always_inline)) int32_t slot_at(struct tab t, int32_t i, int32_t q) {
  return rdb(t.slots, cell(i, q, t.n_q));
}

static inline __attribute__((always_inline)) int32_t held_at(struct tab t, struct row r, int32_t s, int32_t q) {
  return rd(r.k_held, cell(q, s, t.n_sw));
}

static inline __attribute__((always_inline)) int32_t lane_of(struct tab t, int32_t i, int32_t e, int32_t q) {
  return slot_at(t, i + of_chan(t, e, 3), q);
}

static inline __attribute__((always_inline)) int works(struct tab t, int32_t e, int32_t m) {
  return m < of_chan(t, e, 4);
}

static inline __attribute__((always_inline)) int turn_check(struct tab t, int32_t c, int32_t e, int32_t q, int32_t low,
               int32_t high) {
  int32_t m, x;
  m = lane_of(t, of_chan(t, c, 2), e, q);
  if (!works(t, e, m)) {
    return 0;
  }
  x = rank_of(t, e, m);
  if (low < x) {
    return x <= high;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int32_t next_of(struct tab t, struct row r, int32_t s) {
  int32_t p, c;
  p = rdb(r.lft, s);
  if (p >= of_sw(t, s, 1)) {
    return -1;
  }
  c = of_sw(t, s, 0) + p;
  if (!(of_chan(t, c, 0) == s)) {
    return -1;
  }
  if (rd(r.k_next, s) == c) {
    return c;
  } else {
    return -2;
  }
}

static inline __attribute__((always_inline)) int32_t end_of(struct tab t, int32_t c) {
  return of_chan(t, c, 1);
}

static inline __attribute__((always_inline)) int32_t held_of(struct tab t, struct row r, int32_t s, int32_t q, int32_t c) {
  if (t.f_flat) {
    return rank_of(t, c, q);
  } else {
    return held_at(t, r, s, q);
  }
}

static inline __attribute__((always_inline)) uint16_t pass_of(struct tab t, struct row r, int32_t s) {
  return rdh(r.k_pass, s);
}

static inline __attribute__((always_inline)) int here(struct tab t, struct row r, int32_t s) {
  return of_sw(t, s, 2) == of_sw(t, r.r_home, 2);
}

static inline __attribute__((always_inline)) int sends_at(struct tab t, int32_t s) {
  return !(of_sw(t, s, 3) == 0);
}

static inline __attribute__((always_inline)) int meets_at(struct tab t, struct row r, int32_t s) {
  if (!(s == r.r_home)) {
    if (r.f_asks) {
      return 1;
    } else {
      return sends_at(t, s);
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) uint16_t answers_of(struct tab t, int32_t h, int32_t s) {
  return rdh(t.k_answers, cell(h, s, t.n_sw));
}

static inline __attribute__((always_inline)) uint16_t asked_at(struct tab t, struct row r, int32_t s) {
  uint16_t l;
  l = ((1u << ((rdb(r.r_sl, s)))));
  if (r.f_more) {
    return ((l | (rdh(r.r_more, s))));
  } else {
    return l;
  }
}

static inline __attribute__((always_inline)) uint16_t allowed_at(struct tab t, struct row r, int32_t s) {
  uint16_t m;
  if (!meets_at(t, r, s)) {
    return (((1u << (0)) - 1u));
  }
  if (t.f_any) {
    return (((1u << ((t.n_q))) - 1u));
  }
  m = asked_at(t, r, s);
  if (t.f_replies && (r.f_asks && sends_at(t, r.r_home))) {
    return ((m | (answers_of(t, r.r_home, s))));
  } else {
    return m;
  }
}

static inline __attribute__((always_inline)) int level_check(struct tab t, struct row r, int32_t s) {
  if (t.f_any) {
    return 1;
  }
  if (rdb(r.r_sl, s) >= t.n_q) {
    return 0;
  }
  if (!t.f_replies || (!meets_at(t, r, s) || !sends_at(t, s))) {
    return 1;
  }
  return (asked_at(t, r, s) & ~answers_of(t, s, r.r_home)) == 0;
}

static inline __attribute__((always_inline)) int hop_check(struct tab t, struct row r, struct row o, int32_t s, int32_t c,
              int32_t q, int own) {
  int32_t low, f, v, e;
  low = held_of(t, r, s, q, c);
  f = first_of(t, c, q);
  if (own && (f == 0x7FFFFFFF || f > low)) {
    return 0;
  }
  v = end_of(t, c);
  if (v == r.r_home) {
    return 1;
  }
  e = rd(o.k_next, v);
  if (!(pass_of(t, o, v) >> q & 1) || e >= t.n_chan) {
    return 0;
  }
  if (e < 0) {
    return 1;
  } else {
    return turn_check(t, c, e, q, low, held_of(t, o, v, q, e));
  }
}

static inline __attribute__((always_inline)) int hops_check(struct tab t, struct row r, struct row o, int32_t s,
               int32_t c, uint16_t own) {
  uint16_t m;
  int32_t q;
  int32_t z;
  m = pass_of(t, r, s);
  if (!((own & ~m) == 0)) {
    return 0;
  }
  q = (__builtin_ctz((1u << 16 | m) & ~0u << (0)));
  while (q < t.n_q) {
    if (!hop_check(t, r, o, s, c, q, own >> q & 1)) {
      return 0;
    }
    z = (__builtin_ctz((1u << 16 | m) & ~0u << ((q + 1))));
    q = z;
  }
  return 1;
}

static inline __attribute__((always_inline)) int switch_check(struct tab t, struct row r, struct row o, int32_t s) {
  int32_t c;
  if (!here(t, r, s)) {
    if (!r.f_whole) {
      return 1;
    } else {
      return rdb(r.lft, s) == 255;
    }
  }
  if (!level_check(t, r, s)) {
    return 0;
  }
  if (s == r.r_home) {
    return 1;
  }
  c = next_of(t, r, s);
  if (c < 0) {
    if (c == -1) {
      return !r.f_whole;
    } else {
      return 0;
    }
  }
  return hops_check(t, r, o, s, c, allowed_at(t, r, s));
}

static inline __attribute__((always_inline)) int dest_check(struct tab t, struct row r, struct row o) {
  int32_t s, o1;
  if (!(r.r_home == o.r_home)) {
    return 0;
  }
  if (r.f_whole && !(rdb(r.lft, r.r_home) == r.r_exit)) {
    return 0;
  }
  o1 = t.n_sw - 1;
  if (0 <= o1) {
    for (s = 0; ; ++s) {
      if (!switch_check(t, r, o, s)) {
        return 0;
      }
      if (s == o1) {
        break;
      }
    }
  }
  return 1;
}

static inline __attribute__((always_inline)) int port_check(struct tab t, int32_t s) {
  int32_t b, m;
  b = of_sw(t, s, 0);
  m = of_sw(t, s, 1);
  if (0 <= b) {
    if (0 <= m) {
      if (m <= 255) {
        if (m <= t.n_chan) {
          return b <= t.n_chan - m;
        } else {
          return 0;
        }
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

static inline __attribute__((always_inline)) int row_check(struct tab t, int32_t i) {
  if (0 <= i) {
    return i <= t.n_slot - 256;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int chan_check(struct tab t, int32_t c) {
  int32_t s, v, p;
  s = of_chan(t, c, 0);
  v = of_chan(t, c, 1);
  p = of_chan(t, c, 3);
  if (s >= t.n_sw || (v < 0 || (v >= t.n_sw || (p < 0 || p > 255)))) {
    return 0;
  }
  if (!row_check(t, of_chan(t, c, 2)) || of_chan(t, c, 4) > t.n_lane) {
    return 0;
  }
  if (s < 0) {
    return 1;
  }
  if (of_sw(t, s, 2) == of_sw(t, v, 2)) {
    if (of_sw(t, s, 0) <= c) {
      return c < of_sw(t, s, 0) + of_sw(t, s, 1);
    } else {
      return 0;
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int entry_check(struct tab t, int32_t h) {
  int32_t s;
  s = of_entry(t, h, 0);
  if (0 <= s) {
    if (s < t.n_sw) {
      return row_check(t, of_entry(t, h, 1));
    } else {
      return 0;
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int wired_check(struct tab t) {
  int32_t s, o, c, o1, h, o2;
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
  o2 = t.n_entry - 1;
  if (0 <= o2) {
    for (h = 0; ; ++h) {
      if (!entry_check(t, h)) {
        return 0;
      }
      if (h == o2) {
        break;
      }
    }
  }
  if (t.f_flat && t.n_q > t.n_lane) {
    return 0;
  }
  return 1;
}

static inline __attribute__((always_inline)) int32_t mcast_check(struct tab t, int32_t i, int32_t e, int32_t q) {
  int32_t m, x;
  if (t.m_lane >= 0) {
    m = t.m_lane;
  } else {
    m = lane_of(t, i, e, q);
  }
  if (!works(t, e, m)) {
    return 0x7FFFFFFF;
  }
  x = rank_of(t, e, m);
  if (x <= mheld_of(t, e, q)) {
    return x;
  } else {
    return 0x7FFFFFFF;
  }
}

static inline __attribute__((always_inline)) int in_check(struct tab t, int32_t h, int32_t c, int32_t q) {
  int32_t f, i, l;
  f = first_of(t, c, q);
  i = of_entry(t, h, 1);
  if (!(f == 0x7FFFFFFF)) {
    l = lane_of(t, i, c, q);
    if (!works(t, c, l) || rank_of(t, c, l) > f) {
      return 0;
    }
  }
  if (!t.f_mcast) {
    return 1;
  } else {
    if (of_chan(t, c, 5) < 0) {
      return 1;
    } else {
      return !(mcast_check(t, i, c, q) == 0x7FFFFFFF);
    }
  }
}

static inline __attribute__((always_inline)) int on_check(struct tab t, int32_t c, int32_t e, int32_t q) {
  int32_t x;
  if (of_chan(t, e, 5) < 0 || of_chan(t, c, 5) == e) {
    return 1;
  }
  x = mcast_check(t, of_chan(t, c, 2), e, q);
  if (!(x == 0x7FFFFFFF)) {
    return mheld_of(t, c, q) < x;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int fan_to(struct tab t, int32_t h, int32_t c, int32_t e) {
  int32_t q, o;
  int cond, cond1;
  o = t.n_q - 1;
  if (0 <= o) {
    for (q = 0; ; ++q) {
      if (c < 0) {
        cond1 = in_check(t, h, e, q);
      } else {
        cond1 = on_check(t, c, e, q);
      }
      if (cond1) {
        cond = 0;
      } else {
        cond = 1;
      }
      if (cond) {
        return 0;
      }
      if (q == o) {
        break;
      }
    }
  }
  return 1;
}

static inline __attribute__((always_inline)) int fan_check(struct tab t, int32_t h, int32_t c, int32_t s) {
  int32_t b, p, o, e;
  b = of_sw(t, s, 0);
  o = of_sw(t, s, 1) - 1;
  if (0 <= o) {
    for (p = 0; ; ++p) {
      e = b + p;
      if (of_chan(t, e, 0) == s && !fan_to(t, h, c, e)) {
        return 0;
      }
      if (p == o) {
        break;
      }
    }
  }
  return 1;
}

static inline __attribute__((always_inline)) int fabric_check(struct tab t) {
  int32_t h, o, c, o1;
  o = t.n_entry - 1;
  if (0 <= o) {
    for (h = 0; ; ++h) {
      if (!fan_check(t, h, -1, of_entry(t, h, 0))) {
        return 0;
      }
      if (h == o) {
        break;
      }
    }
  }
  if (!t.f_mcast) {
    return 1;
  }
  o1 = t.n_chan - 1;
  if (0 <= o1) {
    for (c = 0; ; ++c) {
      if (of_chan(t, c, 5) >= 0 && !fan_check(t, 0, c, end_of(t, c))) {
        return 0;
      }
      if (c == o1) {
        break;
      }
    }
  }
  return 1;
}
