#include "data/text/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/printable.h"
#include "data/runtime/making.h"
#include "data/text/hashes.h"

namespace stoker::text {

namespace {

std::string shown(std::string_view token) { return token_text(printable(token)); }
std::string shown(int64_t token) { return token_text(token); }

// Where a token goes that is not there: one of `places`.
int64_t bucket(std::string_view token, int64_t places, OovMethod,
               const std::optional<std::pair<uint64_t, uint64_t>>& salt) {
  uint64_t hash = salt ? siphash64(token, salt->first, salt->second) : farmhash64(token);
  return int64_t(hash % uint64_t(places));
}
int64_t bucket(int64_t token, int64_t places, OovMethod method,
               const std::optional<std::pair<uint64_t, uint64_t>>& salt) {
  if (method == OovMethod::farmhash) return bucket(std::to_string(token), places, method, salt);
  int64_t rest = token % places;
  return rest < 0 ? rest + places : rest;
}

}  // namespace

template <class Token>
Vocabulary<Token>::Vocabulary(const std::string& owner, const Options& options,
                              std::vector<Token> tokens, std::vector<float> weights)
    : owner_(owner),
      table_(std::move(tokens)),
      weights_(std::move(weights)),
      has_mask_(options.mask_token.has_value()),
      mask_(options.mask_token.value_or(Token())),
      oov_(options.oov_token),
      masked_(options.output_mode == OutputMode::int_ ? 0 : kMasked),
      oov_start_(oov_start(options)),
      first_(first_index(options)),
      places_(options.num_oov_indices),
      columns_(options.pad_to_max_tokens ? *options.max_tokens : first_ + table_.size()),
      method_(options.oov_method),
      salt_(options.salt) {
  if (table_.repeated() >= 0)
    throw ValueError(fmt::format("{}: the vocabulary holds {} twice", owner,
                                 shown(View(table_.tokens()[size_t(table_.repeated())]))));
  if (options.max_tokens && size() > *options.max_tokens)
    throw ValueError(
        fmt::format("{}: a vocabulary of {} with its special tokens, but max_tokens is {}", owner,
                    size(), *options.max_tokens));
  auto reserved = [&](const char* what, const Token& token) {
    if (table_.find(token) >= 0)
      throw ValueError(fmt::format(
          "{}: {}, {}, is in the vocabulary; expected all special tokens at its beginning, or none",
          owner, what, shown(View(token))));
  };
  if (has_mask_) reserved("the mask token", mask_);
  if (options.invert) reserved("the token for unknown indices", oov_);
  if (options.output_mode == OutputMode::tf_idf && int64_t(weights_.size()) != columns_)
    throw ValueError(
        fmt::format("{}: {} idf weights for {} columns", owner, weights_.size(), columns_));
}

template <class Token>
int64_t Vocabulary<Token>::unknown(View token) const {
  if (places_ == 1) return oov_start_;
  if (places_ > 1) return oov_start_ + bucket(token, places_, method_, salt_);
  throw ValueError(fmt::format(
      "{}: {} is not in the vocabulary, and num_oov_indices is 0; set it to 1 for unknown tokens",
      owner_, shown(token)));
}

template <class Token>
const Token& Vocabulary<Token>::token_of(int64_t index) const {
  if (index == 0 && oov_start_ == 1) return mask_;
  bool there = index >= first_ && index - first_ < table_.size();
  return there ? table_.tokens()[size_t(index - first_)] : oov_;
}

template <class Token>
void Vocabulary<Token>::encode(std::span<const int64_t> indices, OutputMode mode,
                               float* row) const {
  std::fill_n(row, columns_, 0.0F);
  for (int64_t index : indices) {
    if (index == kMasked) continue;
    row[index] = mode == OutputMode::multi_hot ? 1 : row[index] + 1;
  }
  if (mode == OutputMode::tf_idf)
    for (int64_t column = 0; column < columns_; ++column) row[column] *= weights_[size_t(column)];
}

template <class Token>
uint64_t Vocabulary<Token>::checksum() const {
  uint64_t hash = uint64_t(size());
  for (const Token& token : tokens()) hash = data::mixed(hash, token_hash(View(token)));
  for (float weight : weights_) hash = data::mixed(hash, std::bit_cast<uint32_t>(weight));
  return hash;
}

template <class Token>
void check_options(const std::string& owner, const LookupOptions<Token>& options) {
  auto refuse = [&](const std::string& why) { throw ValueError(owner + ": " + why); };
  constexpr int64_t kMost = INT32_MAX;
  if (options.max_tokens && (*options.max_tokens <= 1 || *options.max_tokens > kMost))
    refuse(fmt::format("max_tokens is {}, expected 2 to {}", *options.max_tokens, kMost));
  if (options.pad_to_max_tokens && !options.max_tokens)
    refuse("pad_to_max_tokens needs max_tokens");
  if (options.num_oov_indices < 0 || options.num_oov_indices > 1'000'000)
    refuse(fmt::format("num_oov_indices is {}, expected 0 to 1000000", options.num_oov_indices));
  if (options.max_tokens && *options.max_tokens <= first_index(options))
    refuse(fmt::format("max_tokens is {}, which {} special tokens fill", *options.max_tokens,
                       first_index(options)));
  if (options.invert && options.output_mode != OutputMode::int_)
    refuse("invert needs output_mode int_");
  if (!options.idf_weights.empty() && options.output_mode != OutputMode::tf_idf)
    refuse("idf_weights are set, but output_mode is not tf_idf");
  if (LookupOptions<Token>::kIsText && options.oov_method == OovMethod::floormod)
    refuse("oov_method floormod is for integers; texts are hashed");
  if (options.salt && options.oov_method != OovMethod::farmhash)
    refuse("salt needs oov_method farmhash");
}

template <class Token>
std::shared_ptr<const Vocabulary<Token>> given_vocabulary(const std::string& owner,
                                                          const LookupOptions<Token>& options,
                                                          const std::vector<Token>& tokens,
                                                          const std::vector<double>& weights) {
  if (tokens.empty()) throw ValueError(owner + ": the vocabulary is empty");
  bool tf_idf = options.output_mode == OutputMode::tf_idf;
  if (tf_idf ? weights.size() != tokens.size() : !weights.empty())
    throw ValueError(fmt::format(
        "{}: {} idf weights for a vocabulary of {}{}", owner, weights.size(), tokens.size(),
        tf_idf ? "; tf_idf needs one for each token" : "; only tf_idf has weights"));
  std::vector<Token> special = special_tokens(options);
  bool found =
      tokens.size() >= special.size() && std::equal(special.begin(), special.end(), tokens.begin());
  std::vector<Token> plain(tokens.begin() + (found ? std::ptrdiff_t(special.size()) : 0),
                           tokens.end());
  std::vector<float> columns;
  if (tf_idf) {
    // Unknown tokens weigh as the average, unless their weight is given.
    double average = std::accumulate(weights.begin(), weights.end(), 0.0) / double(weights.size());
    if (!found) columns.assign(special.size(), float(average));
    columns.insert(columns.end(), weights.begin(), weights.end());
    if (options.pad_to_max_tokens)
      columns.resize(std::max(columns.size(), size_t(*options.max_tokens)));
  }
  return std::make_shared<Vocabulary<Token>>(owner, options, std::move(plain), std::move(columns));
}

template <class Token>
void TokenCounter<Token>::add(View token) {
  auto found = counts_.find(token);
  if (found == counts_.end()) found = counts_.emplace(Token(token), Count()).first;
  Count& count = found->second;
  ++count.total;
  if (count.last != documents_) ++count.documents, count.last = documents_;
}

template <class Token>
std::shared_ptr<const Vocabulary<Token>> TokenCounter<Token>::vocabulary(
    const std::string& owner, const LookupOptions<Token>& options) const {
  using Entry = std::pair<const Token, Count>;
  std::vector<const Entry*> entries;
  for (const Entry& entry : counts_)
    if (entry.first != options.oov_token && entry.first != options.mask_token)
      entries.push_back(&entry);
  auto before = [](const Entry* a, const Entry* b) {
    if (a->second.total != b->second.total) return a->second.total > b->second.total;
    return a->first > b->first;
  };
  std::sort(entries.begin(), entries.end(), before);
  if (options.max_tokens)
    entries.resize(std::min(entries.size(), size_t(*options.max_tokens - first_index(options))));
  std::vector<Token> tokens;
  std::vector<float> weights;
  for (const Entry* entry : entries) {
    tokens.push_back(entry->first);
    double share = double(documents_) / double(1 + entry->second.documents);
    weights.push_back(float(std::log(1 + share)));
  }
  if (options.output_mode != OutputMode::tf_idf) {
    weights.clear();
  } else {
    double average = weights.empty() ? 0
                                     : std::accumulate(weights.begin(), weights.end(), 0.0) /
                                           double(weights.size());
    weights.insert(weights.begin(), size_t(first_index(options)), float(average));
    if (options.pad_to_max_tokens) weights.resize(size_t(*options.max_tokens));
  }
  return std::make_shared<Vocabulary<Token>>(owner, options, std::move(tokens), std::move(weights));
}

template class Vocabulary<std::string>;
template class Vocabulary<int64_t>;
template class TokenCounter<std::string>;
template class TokenCounter<int64_t>;
template void check_options(const std::string&, const LookupOptions<std::string>&);
template void check_options(const std::string&, const LookupOptions<int64_t>&);
template std::shared_ptr<const Vocabulary<std::string>> given_vocabulary(
    const std::string&, const LookupOptions<std::string>&, const std::vector<std::string>&,
    const std::vector<double>&);
template std::shared_ptr<const Vocabulary<int64_t>> given_vocabulary(const std::string&,
                                                                     const LookupOptions<int64_t>&,
                                                                     const std::vector<int64_t>&,
                                                                     const std::vector<double>&);

}  // namespace stoker::text
