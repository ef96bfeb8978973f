#pragma once
// SSH signatures by Ed25519 keys, and OpenSSH's allowed_signers: accepted and refused as by parkf.io.ssh_signatures.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ed25519.hpp"
#include "files.hpp"
#include "sha256.hpp"

namespace parkf::ssh {

using Signers = std::map<std::string, std::string>;  // names by public keys, 32 bytes each

inline constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string base64(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t j = i; j < i + 3; ++j) group = group << 8 | (j < bytes.size() ? (bytes[j] & 0xFFu) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : alphabet[group >> (18 - 6 * j) & 63];
  }
  return text;
}

/// The bytes of a text in base 64; none where it is not written as `base64` writes it.
inline std::string bytes_of(std::string_view text) {
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text) {
    const std::size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos) break;
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xFFFF;
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return base64(bytes) == text ? bytes : "";
}

/// Text with its length before it, as in SSH's messages.
inline std::string sized(std::string_view text) {
  const std::size_t n = text.size();
  return std::string{static_cast<char>(n >> 24 & 0xFF), static_cast<char>(n >> 16 & 0xFF),
                     static_cast<char>(n >> 8 & 0xFF), static_cast<char>(n & 0xFF)}
      .append(text);
}

inline std::string public_key(std::string_view key) { return sized("ssh-ed25519") + sized(key); }

inline std::string fingerprint(std::string_view key) {
  Sha256 digest;
  digest.add(public_key(key));
  const std::string digits = digest.digest();
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::strtol(digits.substr(i, 2).c_str(), nullptr, 16));
  }
  return "SHA256:" + base64(bytes).substr(0, 43);
}

/// Lines of allowed_signers that are in a file; all but comments must name an Ed25519 key for this purpose alone.
inline Signers signers(const std::vector<std::string>& lines, const std::filesystem::path& path,
                       const std::string& purpose) {
  const std::string middle = " namespaces=\"" + purpose + "\" ssh-ed25519 ";
  Signers found;
  for (std::size_t number = 1; number <= lines.size(); ++number) {
    const std::string& line = lines[number - 1];
    if (line.empty() || line[0] == '#') continue;
    const std::size_t end = line.find(' ');
    const std::string name = line.substr(0, end);
    std::string blob;
    if (end != std::string::npos && line.compare(end, middle.size(), middle) == 0) {
      blob = bytes_of(std::string_view(line).substr(end + middle.size()));
    }
    const std::string key = blob.size() < 32 ? "" : blob.substr(blob.size() - 32);
    constexpr auto letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._+-";
    const bool named = !name.empty() && name.size() <= 64 && name.find_first_not_of(letters) == std::string::npos;
    if (!named || key.empty() || blob != public_key(key)) {
      throw Error(path.string() + ": line " + std::to_string(number) + ": got '" + line.substr(0, 60) +
                  "', expected NAME" + middle + "KEY");
    }
    found[key] = name;
  }
  if (found.empty()) throw Error(path.string() + ": names no key; get the file again from where it came");
  return found;
}

/// A file of allowed_signers.
inline Signers signers(const std::filesystem::path& path, const std::string& purpose) {
  const std::string text = read_file(path);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin <= text.size(); begin += lines.back().size() + 1) {
    lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
  }
  return signers(lines, path, purpose);
}

/// The name of the key that signed a message; a signature of anything else is an Error.
inline std::string check(const std::filesystem::path& path, const std::string& message, const Signers& keys,
                         const std::string& purpose) {
  const std::string text = read_file(path), version("\0\0\0\1", 4);
  const std::string begin = "-----BEGIN SSH SIGNATURE-----\n", end = "-----END SSH SIGNATURE-----\n";
  std::string inner;
  for (std::size_t i = begin.size(); i + end.size() < text.size(); ++i) {
    if (text[i] != '\n') inner += text[i];
  }
  std::string lines;
  for (std::size_t i = 0; i < inner.size(); i += 70) lines += inner.substr(i, 70) + '\n';
  const std::string blob = bytes_of(inner), about = sized(purpose) + sized("") + sized("sha512");
  const std::size_t place = 6 + version.size() + 4 + public_key("").size();
  const std::string key = blob.size() < place + 32 ? "" : blob.substr(place, 32);
  const std::string signature = blob.size() < 64 ? "" : blob.substr(blob.size() - 64);
  // A signature has one form: what is written again from its parts is the file.
  const std::string both = sized(public_key(key)) + about + sized(sized("ssh-ed25519") + sized(signature));
  if (blob != "SSHSIG" + version + both || text != begin + lines + end) {
    throw Error(path.string() + ": no SSH signature by an Ed25519 key for " + purpose +
                "; get it again from where it came");
  }
  const auto signer = keys.find(key);
  if (signer == keys.end()) {
    std::string named;
    for (const auto& [one, name] : keys) named += (named.empty() ? "" : " or ") + fingerprint(one) + " of " + name;
    throw Error(path.string() + ": signed by key " + fingerprint(key) + ", expected " + named);
  }
  const auto digest = sha512(message);
  const std::string hash(digest.begin(), digest.end());
  if (!ed25519::verify(key, "SSHSIG" + about + sized(hash), signature)) {
    throw Error(path.string() + ": not the signature by " + signer->second +
                " of what it signs; one of the two was changed");
  }
  return signer->second;
}

}  // namespace parkf::ssh
