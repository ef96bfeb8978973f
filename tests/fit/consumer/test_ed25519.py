"""The C++ header checks Ed25519 signatures as RFC 8032 and Python's `cryptography` do."""

import random
import subprocess
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

HEADER = Path(__file__).parents[3] / "src/parkf/fit/consumer/ed25519.hpp"
# RFC 8032, section 7.1: secret key, public key, message and signature of TEST 1, 2, 3 and SHA(abc).
VECTORS = [
    tuple(map(bytes.fromhex, line.split(",")))
    for line in (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60,"
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a,,"
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595b"
        "be24655141438e7a100b",
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb,"
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c,72,"
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb430"
        "2aeeb00d291612bb0c00",
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7,"
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025,af82,"
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716e"
        "d28dc027beceea1ec40a",
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42,"
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf,"
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643c"
        "e80e2a9ac94fa54ca49f,"
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138a"
        "c17ad9bef1177331a704",
    )
]
ORDER = 2**252 + 27742317777372353535851937790883648493
PROGRAM = r"""
#include <iostream>
#include "ed25519.hpp"

std::string bytes(const std::string& hex) {
  std::string result;
  for (std::size_t i = 1; i + 1 < hex.size(); i += 2) {
    result += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return result;
}

int main() {
  std::string key, message, signature;
  while (std::cin >> key >> message >> signature) {
    std::cout << parkf::ed25519::verify(bytes(key), bytes(message), bytes(signature));
  }
}
"""


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """Check triples of key, message and signature in C++."""
    folder = tmp_path_factory.mktemp("ed25519")
    (folder / "main.cpp").write_text(PROGRAM)
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", f"-I{HEADER.parent}"]
    subprocess.run(["g++", *flags, folder / "main.cpp", "-o", folder / "verify"], check=True)

    def verify(triples):
        # The first letter keeps an empty message a word.
        lines = "".join(" ".join(f"x{part.hex()}" for part in triple) + "\n" for triple in triples)
        done = subprocess.run([folder / "verify"], input=lines, capture_output=True, text=True, check=True)
        return [digit == "1" for digit in done.stdout]

    return verify


def in_python(key, message, signature):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def flipped(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_the_vectors_of_the_standard(verified):
    for secret, key, message, signature in VECTORS:
        own = Ed25519PrivateKey.from_private_bytes(secret)
        assert own.public_key().public_bytes_raw() == key
        assert own.sign(message) == signature
    assert verified([vector[1:] for vector in VECTORS]) == [True] * len(VECTORS)


def test_every_changed_bit_of_signature_key_and_message_is_refused(verified):
    _, key, message, signature = VECTORS[3]
    triples = [(key, message, flipped(signature, bit)) for bit in range(512)]
    triples += [(flipped(key, bit), message, signature) for bit in range(256)]
    triples += [(key, flipped(message, bit), signature) for bit in range(512)]
    assert verified(triples) == [False] * len(triples)


def test_both_languages_decide_alike(verified):
    """Genuine and changed signatures of random keys; messages of all lengths around the blocks of SHA-512."""
    draw = random.Random(8032)
    triples = []
    for length in (*range(0, 20), *range(100, 140), 1023, 5000):
        own = Ed25519PrivateKey.from_private_bytes(draw.randbytes(32))
        message = draw.randbytes(length)
        genuine = own.public_key().public_bytes_raw(), message, own.sign(message)
        triples += [genuine, (genuine[0], message, flipped(genuine[2], draw.randrange(512)))]
        triples.append((draw.randbytes(32), message, genuine[2]))
    expected = [in_python(*triple) for triple in triples]
    assert expected == [number % 3 == 0 for number in range(len(triples))]
    assert verified(triples) == expected


def test_forms_that_the_standard_forbids_are_refused(verified):
    """A scalar above the group's order, a signature or key of another length, and keys that are no point."""
    _, key, message, signature = VECTORS[2]
    scalar = int.from_bytes(signature[32:], "little")
    again = [signature[:32] + (scalar + n * ORDER).to_bytes(32, "little") for n in (1, 2, 8)]
    triples = [(key, message, one) for one in (*again, signature[:-1], signature + b"\0", b"", bytes(64))]
    triples += [
        (one, message, signature) for one in (key[:-1], key + b"\0", b"", b"\xff" * 32, b"\2" + bytes(31))
    ]
    assert verified(triples) == [False] * len(triples)
    assert [in_python(*triple) for triple in triples] == [False] * len(triples)
