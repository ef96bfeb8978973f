#pragma once
// A float that counts the operations on it. The kernel runs with it to count the operations of a fit.

#include "numbers/number.hpp"

struct Counted {
  static inline long done[4];  // additions and subtractions, multiplications, divisions, roots
  float v;

  Counted() = default;
  Counted(float a) : v(a) {}  // NOLINT: as the kernel's numbers, it mixes with constants
  explicit Counted(int a) : v(static_cast<float>(a)) {}
  explicit Counted(double a) : v(static_cast<float>(a)) {}

  friend Counted operator+(Counted a, Counted b) { return ++done[0], Counted(a.v + b.v); }
  friend Counted operator-(Counted a, Counted b) { return ++done[0], Counted(a.v - b.v); }
  friend Counted operator*(Counted a, Counted b) { return ++done[1], Counted(a.v * b.v); }
  friend Counted operator/(Counted a, Counted b) { return ++done[2], Counted(a.v / b.v); }
  friend Counted operator-(Counted a) { return Counted(-a.v); }
  Counted& operator+=(Counted b) { return *this = *this + b; }
  Counted& operator-=(Counted b) { return *this = *this - b; }
  friend bool operator<(Counted a, Counted b) { return a.v < b.v; }
  friend bool operator<=(Counted a, Counted b) { return a.v <= b.v; }
  friend bool operator>(Counted a, Counted b) { return a.v > b.v; }
  friend bool operator==(Counted a, Counted b) { return a.v == b.v; }
  friend Counted root(Counted a) { return ++done[3], Counted(parkf::root(a.v)); }
  friend Counted single(Counted a) { return a; }
  friend Counted magnitude(Counted a) { return Counted(parkf::magnitude(a.v)); }
  friend Counted round_down(Counted a) { return Counted(parkf::round_down(a.v)); }
  friend int to_integer(Counted a) { return static_cast<int>(a.v); }
  friend void store(const Counted& a, float* target) { *target = a.v; }
};

template <>
struct parkf::Number<Counted> {
  using Scalar = float;
  using Mask = bool;
  using Integer = int;
  static constexpr int lanes = 1;

  static Counted of(int a) { return Counted(a); }
};
