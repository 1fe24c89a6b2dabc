#include "agent/core/options.h"

#include <charconv>

namespace headway::agent {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-~+:@").find(c) != std::string_view::npos;
}

int to_int(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// At colons; what is empty is left out.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t colon = text.find(':');
    if (colon != 0) parts.emplace_back(text.substr(0, colon));
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  }
  return parts;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_encode(std::string_view value) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : value) {
    if (is_plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::string percent_decode(std::string_view value) {
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '%' && i + 2 < value.size() && hex_digit(value[i + 1]) >= 0 && hex_digit(value[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(value[i + 1]) * 16 + hex_digit(value[i + 2]));
      i += 2;
    } else {
      out += value[i];
    }
  }
  return out;
}

std::string lock_options(const Options& options) {
  std::string text;
  if (!options.locks) return text;
  text = ",locks=1";
  if (options.park_threshold > 0) text += ",park_threshold=" + std::to_string(options.park_threshold);
  if (options.forget_dead) text += ",forget_dead=1";
  if (options.no_owners) text += ",no_owners=1";
  return text;
}

std::string spool_id_option(const Options& options) {
  const DirectoryId id = options.spool_id;
  if (id.inode == 0) return {};
  return ",spool_is=" + std::to_string(id.device) + ':' + std::to_string(id.inode);
}

std::string sample_options(const Options& options) {
  if (options.sampler.empty()) return {};
  return ",sampler=" + percent_encode(options.sampler) + ",sample=" + percent_encode(options.sample);
}

std::string object_options(const Options& options) {
  std::string text;
  if (options.objects >= 0) text = ",objects=" + std::to_string(options.objects);
  if (options.objects >= 0 && options.object_sites) text += ",object_sites=1";
  if (!options.accesses) return text;
  text += ",accesses=1";
  if (options.access_owners) text += ",access_owners=1";
  if (options.access_writers) text += ",access_writers=1";
  if (options.access_lines) text += ",access_lines=1";
  if (options.window_ms > 0 && options.window_period_ms > 0) {
    text += ",access_windows=" + std::to_string(options.window_ms) + ':' + std::to_string(options.window_period_ms);
  }
  if (options.access_nodes) text += ",access_nodes=1";
  std::string globs;
  for (const std::string& glob : options.access_scope) globs += (globs.empty() ? "" : ":") + glob;
  if (!globs.empty()) text += ",access_scope=" + percent_encode(globs);
  return text;
}

std::string causal_options(const Options& options) {
  return options.causal.empty() ? std::string() : ",causal=" + percent_encode(options.causal);
}

// "300:3000", milliseconds: a spell of counting and the period that has one.
void parse_windows(std::string_view value, Options& options) {
  const size_t colon = value.find(':');
  if (colon == std::string_view::npos) return;
  options.window_ms = to_int(value.substr(0, colon));
  options.window_period_ms = to_int(value.substr(colon + 1));
}

Options parse_options(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view pair = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    const bool on = value == "1";
    if (key == "spool") options.spool = percent_decode(value);
    if (key == "spool_is") options.spool_id = parse_directory_id(std::string(value));
    if (key == "vthreads") options.vthreads = on;
    if (key == "children") options.children = on;
    if (key == "processors") options.processors = to_int(value);
    if (key == "stop") options.stop = on;
    if (key == "nomap") options.no_map = on;
    if (key == "locks") options.locks = on;
    if (key == "park_threshold") options.park_threshold = to_int(value);
    if (key == "forget_dead") options.forget_dead = on;
    if (key == "opens_existing") options.opens_existing = on;
    if (key == "no_owners") options.no_owners = on;
    if (key == "objects") options.objects = to_int(value);
    if (key == "object_sites") options.object_sites = on;
    if (key == "accesses") options.accesses = on;
    if (key == "access_owners") options.access_owners = on;
    if (key == "access_windows") parse_windows(value, options);
    if (key == "access_writers") options.access_writers = on;
    if (key == "access_lines") options.access_lines = on;
    if (key == "access_nodes") options.access_nodes = on;
    if (key == "access_scope") options.access_scope = split(percent_decode(value));
    if (key == "sampler") options.sampler = percent_decode(value);
    if (key == "causal") options.causal = percent_decode(value);
    if (key == "sample") options.sample = percent_decode(value);
  }
  return options;
}

}  // namespace headway::agent
