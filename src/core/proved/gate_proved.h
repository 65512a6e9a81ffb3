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
  int32_t n_gen;
  int32_t * chans;
  int32_t width;
  int32_t * sws;
  int32_t * ents;
  unsigned char * slot0;
  unsigned char * slot1;
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
  int f_more;
  unsigned char * lft0;
  unsigned char * lft1;
  unsigned char * r_sl;
  uint16_t * r_more;
  uint16_t * k_pass;
  int32_t * k_held;
  int32_t * k_left;
};

static inline __attribute__((always_inline)) int32_t rd(int32_t * p, int32_t i) {
  return p[i];
}

static inline __attribute__((always_inline)) int32_t rdb(unsigned char * p, int32_t i) {
  return (int32_t)p[i];
}

uint16_t rdh(uint16_t * p, int32_t i) {
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
  return of_chan(t, c, 7 + l);
}

static inline __attribute__((always_inline)) int32_t first_of(struct tab t, int32_t c, int32_t q) {
  return of_chan(t, c, 7 + t.n_lane + q);
}

static inline __attribute__((always_inline)) int32_t mheld_of(struct tab t, int32_t c, int32_t q) {
  return of_chan(t, c, 7 + t.n_lane + t.n_q + q);
}

static inline __attribute__((always_inline)) int32_t end_of(struct tab t, int32_t c) {
  return of_chan(t, c, 1);
}

static inline __attribute__((always_inline)) int32_t lane_of(struct tab t, int32_t x, int32_t r, int32_t p, int32_t q) {
  int32_t z;
  if (r < 0 || (p < 0 || (p >= t.n_slot || r >= t.n_slot - p))) {
    return -1;
  }
  z = cell(r + p, q, t.n_q);
  if (x == 0) {
    return rdb(t.slot0, z);
  } else {
    return rdb(t.slot1, z);
  }
}

static inline __attribute__((always_inline)) int32_t leads_to(struct tab t, int32_t s, int32_t p) {
  int32_t c;
  if (p >= of_sw(t, s, 1)) {
    return -1;
  }
  c = of_sw(t, s, 0) + p;
  if (of_chan(t, c, 0) == s) {
    return c;
  } else {
    return -1;
  }
}

static inline __attribute__((always_inline)) int turn_check(struct tab t, int32_t x, int32_t c, int32_t e, int32_t q,
               int32_t low, int32_t high) {
  int32_t m, r;
  m = lane_of(t, x, of_chan(t, c, 2), of_chan(t, e, 3), q);
  if (m < 0 || m >= of_chan(t, e, 4)) {
    return 0;
  }
  r = rank_of(t, e, m);
  if (low < r) {
    return r <= high;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int32_t next(struct tab t, struct row r, int32_t g, int32_t s) {
  return leads_to(t, s, g == 0 ? rdb(r.lft0, s) : rdb(r.lft1, s));
}

static inline __attribute__((always_inline)) int32_t held_of(struct tab t, struct row r, int32_t g, int32_t s, int32_t q,
                int32_t c) {
  if (t.f_flat) {
    return rank_of(t, c, q);
  } else {
    return rd(r.k_held, cell(cell(g, q, t.n_q), s, t.n_sw));
  }
}

uint16_t levels_at(struct tab t, struct row r, int32_t s) {
  return rdh(r.k_pass, s);
}

static inline __attribute__((always_inline)) int here(struct tab t, struct row r, int32_t s) {
  return of_sw(t, s, 2) == of_sw(t, r.r_home, 2);
}

static inline __attribute__((always_inline)) int meets_at(struct tab t, struct row r, int32_t s) {
  if (!(s == r.r_home)) {
    if (r.f_asks) {
      return 1;
    } else {
      return !(of_sw(t, s, 3) == 0);
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int request_at(struct tab t, struct row r, int32_t s, int32_t q) {
  if (rdb(r.r_sl, s) == q) {
    return 1;
  } else {
    if (r.f_more) {
      return rdh(r.r_more, s) >> q & 1;
    } else {
      return 0;
    }
  }
}

uint16_t answers_at(struct tab t, int32_t h, int32_t s) {
  return rdh(t.k_answers, cell(h, s, t.n_sw));
}

static inline __attribute__((always_inline)) int allowed_at(struct tab t, struct row r, int32_t s, int32_t q) {
  if (t.f_any || request_at(t, r, s, q)) {
    return 1;
  }
  if (t.f_replies) {
    if (r.f_asks) {
      if (!(of_sw(t, r.r_home, 3) == 0)) {
        return answers_at(t, r.r_home, s) >> q & 1;
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

static inline __attribute__((always_inline)) int goes_on(struct tab t, struct row r, int32_t y, int32_t v, int32_t q,
            int32_t c, int32_t h, int32_t e) {
  int32_t high;
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

static inline __attribute__((always_inline)) int level_check(struct tab t, struct row r, int32_t g, int32_t s, int32_t q,
                int32_t c, int32_t v, int32_t e0, int32_t e1, int own) {
  int32_t h;
  h = held_of(t, r, g, s, q, c);
  if (own && (first_of(t, c, q) == 0x7FFFFFFF || first_of(t, c, q) > h)) {
    return 0;
  }
  if (!(v == r.r_home)) {
    if (!(levels_at(t, r, v) >> q & 1) || !goes_on(t, r, 0, v, q, c, h, e0)) {
      return 0;
    }
    if (t.n_gen == 2 && !goes_on(t, r, 1, v, q, c, h, e1)) {
      return 0;
    }
  }
  return 1;
}

static inline __attribute__((always_inline)) int own_check(struct tab t, struct row r, int32_t s) {
  uint16_t m;
  int32_t q, o;
  m = levels_at(t, r, s);
  if (t.f_any) {
    o = t.n_q - 1;
    if (0 <= o) {
      for (q = 0; ; ++q) {
        if (!(m >> q & 1)) {
          return 0;
        }
        if (q == o) {
          break;
        }
      }
    }
    return 1;
  }
  if (!(m >> rdb(r.r_sl, s) & 1)) {
    return 0;
  }
  if (r.f_more && !((rdh(r.r_more, s) & ~m) == 0)) {
    return 0;
  }
  if (!(t.f_replies && (r.f_asks && !(of_sw(t, r.r_home, 3) == 0)))) {
    return 1;
  } else {
    return (answers_at(t, r.r_home, s) & ~m) == 0;
  }
}

static inline __attribute__((always_inline)) int hop_check(struct tab t, struct row r, int32_t g, int32_t s) {
  int met;
  int32_t c, v, e0, e1;
  uint16_t m;
  int32_t q;
  met = meets_at(t, r, s);
  if (met && !own_check(t, r, s)) {
    return 0;
  }
  c = next(t, r, g, s);
  if (c < 0) {
    return t.n_gen == 2;
  }
  v = end_of(t, c);
  if (v == r.r_home) {
    e0 = -1;
  } else {
    e0 = next(t, r, 0, v);
  }
  if (v == r.r_home || t.n_gen < 2) {
    e1 = -1;
  } else {
    e1 = next(t, r, 1, v);
  }
  m = levels_at(t, r, s);
  q = (__builtin_ctz((1u << 16 | m) & ~0u << (0)));
  while (q < t.n_q) {
    if (!level_check(t, r, g, s, q, c, v, e0, e1,
         met ? allowed_at(t, r, s, q) : 0)) {
      return 0;
    }
    q = (__builtin_ctz((1u << 16 | m) & ~0u << ((q + 1))));
  }
  return 1;
}

static inline __attribute__((always_inline)) int asked_check(struct tab t, struct row r, int32_t h) {
  int32_t l;
  uint16_t a;
  l = rdb(r.r_sl, h);
  if (!t.f_any && l >= t.n_q) {
    return 0;
  }
  if (!t.f_replies || (!meets_at(t, r, h) || of_sw(t, h, 3) == 0)) {
    return 1;
  }
  a = answers_at(t, h, r.r_home);
  if (a >> l & 1) {
    if (!r.f_more) {
      return 1;
    } else {
      return (rdh(r.r_more, h) & ~a) == 0;
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int away_check(struct tab t, struct row r, int32_t s) {
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

static inline __attribute__((always_inline)) int switch_check(struct tab t, struct row r, int32_t s) {
  if (!here(t, r, s)) {
    return away_check(t, r, s);
  }
  if ((!t.f_any || t.f_replies) && !asked_check(t, r, s)) {
    return 0;
  }
  if (s == r.r_home) {
    return 1;
  }
  if (!hop_check(t, r, 0, s) || (t.n_gen == 2 && !hop_check(t, r, 1, s))) {
    return 0;
  }
  return 1;
}

static inline __attribute__((always_inline)) int left_check(struct tab t, struct row r, int32_t s) {
  int32_t c, v, l;
  if (!here(t, r, s)) {
    return away_check(t, r, s);
  }
  if (s == r.r_home) {
    return 1;
  }
  c = next(t, r, 0, s);
  if (c < 0) {
    return 0;
  }
  v = end_of(t, c);
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

static inline __attribute__((always_inline)) int reach_check(struct tab t, struct row r) {
  int32_t s, o;
  if (!(rdb(r.lft0, r.r_home) == r.r_exit)) {
    return 0;
  }
  o = t.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      if (!left_check(t, r, s)) {
        return 0;
      }
      if (s == o) {
        break;
      }
    }
  }
  return 1;
}

static inline __attribute__((always_inline)) int dest_check(struct tab t, struct row r) {
  int32_t s, o;
  if (!(rdb(r.lft0, r.r_home) == r.r_exit)) {
    return 0;
  }
  o = t.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      if (!switch_check(t, r, s)) {
        return 0;
      }
      if (s == o) {
        break;
      }
    }
  }
  if (t.n_gen == 2) {
    return 1;
  }
  if (!r.f_asks) {
    return reach_check(t, r);
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

static inline __attribute__((always_inline)) int chan_check(struct tab t, int32_t c) {
  int32_t s, v;
  s = of_chan(t, c, 0);
  v = of_chan(t, c, 1);
  if (s >= t.n_sw || (v < 0 || (v >= t.n_sw || of_chan(t, c, 4) > t.n_lane))) {
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

static inline __attribute__((always_inline)) int wired_check(struct tab t) {
  int32_t s, o, c, o1;
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
  if (!t.f_flat) {
    return 1;
  } else {
    return t.n_q <= t.n_lane;
  }
}

static inline __attribute__((always_inline)) int32_t ml_of(struct tab t, int32_t x, int32_t r, int32_t p, int32_t q) {
  if (t.m_lane >= 0) {
    return t.m_lane;
  } else {
    return lane_of(t, x, r, p, q);
  }
}

static inline __attribute__((always_inline)) int in_check(struct tab t, int32_t h, int32_t c, int32_t x, int32_t q) {
  int32_t f, r, p, l, m;
  f = first_of(t, c, q);
  r = of_entry(t, h, 1);
  p = of_chan(t, c, 3);
  if (!(f == 0x7FFFFFFF)) {
    l = lane_of(t, x, r, p, q);
    if (l < 0 || l >= of_chan(t, c, 4)) {
      return 0;
    }
    if (rank_of(t, c, l) > f) {
      return 0;
    }
  }
  if (!t.f_mcast || of_chan(t, c, 6) == 0) {
    return 1;
  }
  m = ml_of(t, x, r, p, q);
  if (0 <= m) {
    if (m < of_chan(t, c, 4)) {
      return rank_of(t, c, m) <= mheld_of(t, c, q);
    } else {
      return 0;
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int on_check(struct tab t, int32_t c, int32_t e, int32_t x, int32_t q) {
  int32_t m, r;
  m = ml_of(t, x, of_chan(t, c, 2), of_chan(t, e, 3), q);
  if (m < 0 || m >= of_chan(t, e, 4)) {
    return 0;
  }
  r = rank_of(t, e, m);
  if (mheld_of(t, c, q) < r) {
    return r <= mheld_of(t, e, q);
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int fan_to(struct tab t, int32_t h, int32_t c, int32_t e) {
  int32_t x, o, q, o1;
  int cond, cond1;
  if (c >= 0 && (of_chan(t, e, 6) == 0 || e == of_chan(t, c, 5))) {
    return 1;
  }
  o = t.n_gen - 1;
  if (0 <= o) {
    for (x = 0; ; ++x) {
      o1 = t.n_q - 1;
      if (0 <= o1) {
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
          if (q == o1) {
            break;
          }
        }
      }
      if (x == o) {
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
  int32_t h, o, s, c, o1, v;
  o = t.n_entry - 1;
  if (0 <= o) {
    for (h = 0; ; ++h) {
      s = of_entry(t, h, 0);
      if (s < 0 || (s >= t.n_sw || !fan_check(t, h, -1, s))) {
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
      if (!(of_chan(t, c, 6) == 0)) {
        v = end_of(t, c);
        if (!fan_check(t, 0, c, v)) {
          return 0;
        }
      }
      if (c == o1) {
        break;
      }
    }
  }
  return 1;
}
