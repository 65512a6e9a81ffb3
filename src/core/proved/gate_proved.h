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

static inline __attribute__((always_inline)) int32_t elem(struct tab t, int32_t * p, int32_t w, int32_t s, int32_t o,
             int32_t j) {
  return p[cell(cell(s, o, t.n_port), j, w)];
}

static inline __attribute__((always_inline)) int32_t hot_at(struct tab t, int32_t s, int32_t o, int32_t j) {
  return elem(t, t.hot, t.width, s, o, j);
}

static inline __attribute__((always_inline)) int32_t cold_at(struct tab t, int32_t s, int32_t o, int32_t j) {
  return elem(t, t.cold, t.more, s, o, j);
}

static inline __attribute__((always_inline)) int32_t of_sw(struct tab t, int32_t s, int32_t j) {
  return t.sws[cell(s, j, 2)];
}

static inline __attribute__((always_inline)) int32_t lane_of(struct tab t, int32_t r, int32_t o, int32_t q) {
  int32_t i;
  i = r + o;
  return rdb(t.slots, cell(i, q, t.n_q));
}

static inline __attribute__((always_inline)) int32_t copy_of(struct tab t, int32_t r, int32_t o, int32_t q) {
  if (t.m_lane >= 0) {
    return t.m_lane;
  } else {
    return lane_of(t, r, o, q);
  }
}

static inline __attribute__((always_inline)) int32_t rank_in(struct tab t, int32_t s, int32_t o, int32_t l, int32_t bound) {
  int32_t x;
  if (l >= hot_at(t, s, o, 2)) {
    return 0x7FFFFFFF;
  }
  x = hot_at(t, s, o, 3 + l);
  if (x <= bound) {
    return x;
  } else {
    return 0x7FFFFFFF;
  }
}

static inline __attribute__((always_inline)) int32_t behind(struct tab t, int32_t s, int32_t o) {
  if (o >= t.n_port) {
    return -1;
  }
  return hot_at(t, s, o, 0);
}

static inline __attribute__((always_inline)) int32_t held_at(struct tab t, struct row r, int32_t s, int32_t q) {
  return r.k_held[cell(q, s, t.n_sw)];
}

static inline __attribute__((always_inline)) int32_t held_of(struct tab t, struct row r, int32_t s, int32_t o, int32_t q) {
  if (t.f_flat) {
    return hot_at(t, s, o, 3 + q);
  } else {
    return held_at(t, r, s, q);
  }
}

static inline __attribute__((always_inline)) int32_t copies_at(struct tab t, int32_t s, int32_t o, int32_t q) {
  return cold_at(t, s, o, 4 + q);
}

static inline __attribute__((always_inline)) int meets_at(struct tab t, struct row r, int32_t s) {
  if (!(s == r.r_home)) {
    if (r.f_host) {
      return 1;
    } else {
      return !(of_sw(t, s, 1) == 0);
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) uint16_t answers_of(struct tab t, int32_t h, int32_t s) {
  return rdh(t.k_answers, cell(h, s, t.n_sw));
}

static inline __attribute__((always_inline)) int level_check(struct tab t, struct row r, int32_t s) {
  uint16_t l;
  int32_t q;
  l = rdh(r.levels, s);
  q = (__builtin_ctz((1u << 16 | l) & ~0u << (0)));
  if (q >= t.n_q || !((l & ~(((1u << ((t.n_q))) - 1u))) == 0)) {
    return 0;
  }
  if (!t.f_replies) {
    return 1;
  } else {
    if (!meets_at(t, r, s)) {
      return 1;
    } else {
      if (of_sw(t, s, 1) == 0) {
        return 1;
      } else {
        return (l & ~answers_of(t, s, r.r_home)) == 0;
      }
    }
  }
}

static inline __attribute__((always_inline)) uint16_t allowed_at(struct tab t, struct row r, int32_t s) {
  uint16_t l;
  if (!meets_at(t, r, s)) {
    return (((1u << (0)) - 1u));
  }
  l = rdh(r.levels, s);
  if (t.f_replies && (r.f_host && !(of_sw(t, r.r_home, 1) == 0))) {
    return ((l | (answers_of(t, r.r_home, s))));
  } else {
    return l;
  }
}

static inline __attribute__((always_inline)) int hop_check(struct tab t, struct row r, struct row o, int32_t s, int32_t p,
              int32_t v, int32_t q, int own) {
  int32_t low, f, e, l, x;
  low = held_of(t, r, s, p, q);
  f = hot_at(t, s, p, 3 + t.n_lane + q);
  if (own && (f == 0x7FFFFFFF || f > low)) {
    return 0;
  }
  if (!(rdh(o.k_pass, v) >> q & 1)) {
    return 0;
  }
  e = rdb(o.lft, v);
  if (behind(t, v, e) < 0) {
    return 1;
  }
  l = lane_of(t, hot_at(t, s, p, 1), e, q);
  x = rank_in(t, v, e, l, held_of(t, o, v, e, q));
  if (low < x) {
    return x < 0x7FFFFFFF;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int hops_check(struct tab t, struct row r, struct row o, int32_t s,
               int32_t p, int32_t v) {
  uint16_t own, m;
  int32_t q;
  int32_t z;
  own = allowed_at(t, r, s);
  m = rdh(r.k_pass, s);
  if (!((own & ~m) == 0)) {
    return 0;
  }
  q = (__builtin_ctz((1u << 16 | m) & ~0u << (0)));
  while (q < t.n_q) {
    if (!hop_check(t, r, o, s, p, v, q, own >> q & 1)) {
      return 0;
    }
    z = (__builtin_ctz((1u << 16 | m) & ~0u << ((q + 1))));
    q = z;
  }
  return 1;
}

static inline __attribute__((always_inline)) int switch_check(struct tab t, struct row r, struct row o, int32_t s) {
  int32_t p, v;
  p = rdb(r.lft, s);
  if (!(of_sw(t, s, 0) == of_sw(t, r.r_home, 0))) {
    if (!r.f_whole) {
      return 1;
    } else {
      return p == 255;
    }
  }
  if (!level_check(t, r, s)) {
    return 0;
  }
  v = behind(t, s, p);
  if (v < 0) {
    if (s == r.r_home) {
      return 1;
    } else {
      return !r.f_whole;
    }
  } else {
    return hops_check(t, r, o, s, p, v);
  }
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

static inline __attribute__((always_inline)) int port_check(struct tab t, int32_t s, int32_t o) {
  int32_t v, i, own, r;
  v = hot_at(t, s, o, 0);
  i = cold_at(t, s, o, 0);
  own = cold_at(t, s, o, 1);
  if (own < 0 || (own > t.n_slot - t.n_port || hot_at(t, s, o, 2) > t.n_lane)) {
    return 0;
  }
  if (v < 0) {
    return 1;
  }
  if (v >= t.n_sw || (i < 0 || (i >= t.n_port || !(of_sw(t, s, 0) ==
                                                 of_sw(t, v, 0))))) {
    return 0;
  }
  r = hot_at(t, s, o, 1);
  if (r == cold_at(t, v, i, 1)) {
    if (0 <= r) {
      return r <= t.n_slot - t.n_port;
    } else {
      return 0;
    }
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int wired_check(struct tab t) {
  int32_t s, o, o1, o2;
  o = t.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      o2 = t.n_port - 1;
      if (0 <= o2) {
        for (o1 = 0; ; ++o1) {
          if (!port_check(t, s, o1)) {
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
  if (!t.f_flat) {
    return 1;
  } else {
    return t.n_q <= t.n_lane;
  }
}

static inline __attribute__((always_inline)) int in_check(struct tab t, int32_t s, int32_t i, int32_t o, int32_t q) {
  int32_t r, f, x, m;
  r = cold_at(t, s, i, 1);
  f = hot_at(t, s, o, 3 + t.n_lane + q);
  if (behind(t, s, o) < 0) {
    return 1;
  }
  x = rank_in(t, s, o, lane_of(t, r, o, q), f);
  if (!(f == 0x7FFFFFFF) && x == 0x7FFFFFFF) {
    return 0;
  }
  m = rank_in(t, s, o, copy_of(t, r, o, q), copies_at(t, s, o, q));
  if (!(m == 0x7FFFFFFF)) {
    return 1;
  } else {
    return cold_at(t, s, o, 3) == 0;
  }
}

static inline __attribute__((always_inline)) int on_check(struct tab t, int32_t s, int32_t c, int32_t o, int32_t q) {
  int32_t v, x;
  v = behind(t, s, c);
  if (v < 0) {
    return 1;
  }
  if (cold_at(t, v, o, 3) == 0 || cold_at(t, s, c, 0) == o) {
    return 1;
  }
  x = rank_in(t, v, o, copy_of(t, hot_at(t, s, c, 1), o, q),
      copies_at(t, v, o, q));
  if (!(x == 0x7FFFFFFF)) {
    return copies_at(t, s, c, q) < x;
  } else {
    return 0;
  }
}

static inline __attribute__((always_inline)) int fan_check(struct tab t, int32_t s, int32_t c) {
  int32_t o, o1, q, o2;
  o1 = t.n_port - 1;
  if (0 <= o1) {
    for (o = 0; ; ++o) {
      o2 = t.n_q - 1;
      if (0 <= o2) {
        for (q = 0; ; ++q) {
          if (!(cold_at(t, s, c, 2) == 0) && !in_check(t, s, c, o, q)) {
            return 0;
          }
          if (!(cold_at(t, s, c, 3) == 0) && !on_check(t, s, c, o, q)) {
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

static inline __attribute__((always_inline)) int fabric_check(struct tab t) {
  int32_t s, o, c, o1;
  o = t.n_sw - 1;
  if (0 <= o) {
    for (s = 0; ; ++s) {
      o1 = t.n_port - 1;
      if (0 <= o1) {
        for (c = 0; ; ++c) {
          if ((!(cold_at(t, s, c, 2) == 0) || !(cold_at(t, s, c, 3) == 0)) &&
              !fan_check(t, s, c)) {
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
