#pragma once
// The numbers of the ghost score: two small networks, whose inputs are quantities of the fit.

namespace parkf::kalman::score {

constexpr int version = 1;      // of features and layout
constexpr int features = 17;    // of the network that sees momentum and direction;
constexpr int own = 13;         // of the other: the first ones
constexpr int hidden = 10;
constexpr int models = 2;       // without momentum and direction, and with them

/// How many numbers a network has: a row of weights and an offset for each hidden unit, then the weights of the hidden
/// units and a last offset.
constexpr int count(int inputs) { return hidden * (inputs + 1) + hidden + 1; }
constexpr int numbers = count(own) + count(features);

}  // namespace parkf::kalman::score
