#pragma once
// Checks Ed25519 signatures (RFC 8032). The arithmetic is that of TweetNaCl 20140427 by D. J. Bernstein, B. van Gastel,
// W. Janssen, T. Lange, P. Schwabe and S. Smetsers, which is in the public domain: sixteen limbs of 16 bits. Unlike
// TweetNaCl, this also refuses a scalar that is not below the group's order. There are no secrets here to protect.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sha512.hpp"

namespace parkf::ed25519 {

using Bytes = std::array<unsigned char, 32>;

/// A number modulo 2^255 - 19.
struct Field {
  std::array<std::int64_t, 16> limbs{};

  friend Field operator+(Field a, const Field& b) {
    for (int i = 0; i < 16; ++i) a.limbs[i] += b.limbs[i];
    return a;
  }
  friend Field operator-(Field a, const Field& b) {
    for (int i = 0; i < 16; ++i) a.limbs[i] -= b.limbs[i];
    return a;
  }
  friend Field operator*(const Field& a, const Field& b) {
    std::int64_t t[31] = {};
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) t[i + j] += a.limbs[i] * b.limbs[j];
    }
    Field product;
    for (int i = 0; i < 16; ++i) product.limbs[i] = t[i] + (i < 15 ? 38 * t[i + 16] : 0);
    product.carry();
    product.carry();
    return product;
  }
  void carry() {
    for (int i = 0; i < 16; ++i) {
      const std::int64_t over = limbs[i] >> 16;
      limbs[i] -= over * 65536;
      limbs[i < 15 ? i + 1 : 0] += i < 15 ? over : 38 * over;
    }
  }
  /// This to a power whose bits are all one, but for two places: squared for each, and multiplied where it is one.
  Field power(int times, int skipped, int also) const {
    Field result = *this;
    for (int i = times; i >= 0; --i) {
      result = result * result;
      if (i != skipped && i != also) result = result * *this;
    }
    return result;
  }
  Field inverse() const { return power(253, 2, 4); }

  Bytes bytes() const {
    Field t = *this;
    for (int i = 0; i < 3; ++i) t.carry();
    for (int turn = 0; turn < 2; ++turn) {
      Field m;
      m.limbs[0] = t.limbs[0] - 0xffed;
      for (int i = 1; i < 16; ++i) {
        m.limbs[i] = t.limbs[i] - (i < 15 ? 0xffff : 0x7fff) - (m.limbs[i - 1] >> 16 & 1);
        m.limbs[i - 1] &= 0xffff;
      }
      if ((m.limbs[15] >> 16 & 1) == 0) t = m;
    }
    Bytes result;
    for (int i = 0; i < 32; ++i) result[i] = static_cast<unsigned char>(t.limbs[i / 2] >> (8 * (i % 2)) & 0xFF);
    return result;
  }
  bool operator==(const Field& other) const { return bytes() == other.bytes(); }
};

inline constexpr Field zero{}, one{{1}};
inline constexpr Field d{{0x78a3, 0x1359, 0x4dca, 0x75eb, 0xd8ab, 0x4141, 0xa4d, 0x70, 0xe898, 0x7779, 0x4079, 0x8cc7,
                    0xfe73, 0x2b6f, 0x6cee, 0x5203}};
inline constexpr Field root_of_minus_one{
    {0xa0b0, 0x4a0e, 0x1b27, 0xc4ee, 0xe478, 0xad2f, 0x1806, 0x2f43, 0xd7a7, 0x3dfb, 0x99, 0x2b4d, 0xdf0b, 0x4fc1,
     0x2480, 0x2b83}};

/// Affine coordinates x, y as x/z, y/z, and x·y/z.
struct Point {
  Field x, y, z, t;

  friend Point operator+(const Point& p, const Point& q) {
    const Field a = (p.y - p.x) * (q.y - q.x), b = (p.y + p.x) * (q.y + q.x);
    const Field c = p.t * q.t * (d + d), twice = p.z * q.z, e = b - a, f = twice + twice - c, g = twice + twice + c;
    const Field h = b + a;
    return {e * f, h * g, g * f, e * h};
  }
  Bytes bytes() const {
    const Field inverse = z.inverse();
    Bytes result = (y * inverse).bytes();
    result[31] ^= static_cast<unsigned char>(((x * inverse).bytes()[0] & 1) << 7);
    return result;
  }
};

inline constexpr Point base{
    {{0xd51a, 0x8f25, 0x2d60, 0xc956, 0xa7b2, 0x9525, 0xc760, 0x692c, 0xdc5c, 0xfdd6, 0xe231, 0xc0a4, 0x53fe, 0xcd6e,
      0x36d3, 0x2169}},
    {{0x6658, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666, 0x6666,
      0x6666, 0x6666}},
    one,
    {{0xdda3, 0xa5b7, 0x8ab3, 0x6dde, 0x52f5, 0x7751, 0x9f80, 0x20f0, 0xe37d, 0x64ab, 0x4e8e, 0x66ea, 0x7665, 0xd78b,
      0x5f0f, 0x6787}}};

/// The negative of a point; false where no point has these bytes.
inline bool negative(const Bytes& bytes, Point& point) {
  point.z = one;
  for (int i = 0; i < 16; ++i) point.y.limbs[i] = bytes[2 * i] + 256 * bytes[2 * i + 1];
  point.y.limbs[15] &= 0x7fff;
  Bytes plain = bytes;
  plain[31] &= 0x7f;
  if (point.y.bytes() != plain) return false;
  const Field square = point.y * point.y, u = square - one, v = square * d + one;
  const Field v2 = v * v, v4 = v2 * v2, v7 = v4 * v2 * v;
  point.x = u * v2 * v * (u * v7).power(250, 1, 1);
  if (!(point.x * point.x * v == u)) point.x = point.x * root_of_minus_one;
  if (!(point.x * point.x * v == u)) return false;
  const int sign = bytes[31] >> 7;
  if (point.x == zero && sign == 1) return false;
  if ((point.x.bytes()[0] & 1) == sign) point.x = zero - point.x;
  point.t = point.x * point.y;
  return true;
}

constexpr std::int64_t order[32] = {
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x10};

/// A number of 64 bytes modulo the group's order.
inline Bytes reduced(const std::array<unsigned char, 64>& digest) {
  std::int64_t x[64];
  std::copy(digest.begin(), digest.end(), x);
  for (int i = 63; i >= 32; --i) {
    std::int64_t carry = 0;
    int j = i - 32;
    for (; j < i - 12; ++j) {
      x[j] += carry - 16 * x[i] * order[j - (i - 32)];
      carry = (x[j] + 128) >> 8;
      x[j] -= carry * 256;
    }
    x[j] += carry;
    x[i] = 0;
  }
  std::int64_t carry = 0;
  const std::int64_t top = x[31] >> 4;
  for (int j = 0; j < 32; ++j) {
    x[j] += carry - top * order[j];
    carry = x[j] >> 8;
    x[j] &= 255;
  }
  for (int j = 0; j < 32; ++j) x[j] -= carry * order[j];
  Bytes result;
  for (int i = 0; i < 32; ++i) {
    x[i + 1] += x[i] >> 8;
    result[i] = static_cast<unsigned char>(x[i] & 255);
  }
  return result;
}

/// Whether a signature, 64 bytes, is that of the message by the owner of a public key, 32 bytes.
inline bool verify(std::string_view key, std::string_view message, std::string_view signature) {
  Bytes a, r, s;
  if (key.size() != a.size() || signature.size() != 2 * r.size()) return false;
  std::copy(key.begin(), key.end(), a.begin());
  std::copy_n(signature.begin(), r.size(), r.begin());
  std::copy_n(signature.begin() + r.size(), s.size(), s.begin());
  const bool small = std::lexicographical_compare(s.rbegin(), s.rend(), std::rbegin(order), std::rend(order));
  Point minus_a;
  if (!small || !negative(a, minus_a)) return false;
  const Bytes h = reduced(sha512(std::string(signature.substr(0, 32)).append(key).append(message)));
  const Point nothing{zero, one, one, zero}, chosen[4] = {nothing, base, minus_a, base + minus_a};
  Point total = nothing;
  for (int bit = 255; bit >= 0; --bit) {
    const auto has = [&](const Bytes& scalar) { return scalar[bit / 8] >> (bit % 8) & 1; };
    total = total + total + chosen[has(s) + 2 * has(h)];
  }
  return total.bytes() == r;
}

}  // namespace parkf::ed25519
