// What attention layers compute once their operands are projected.
#pragma once

#include <stoker/layer.h>

namespace stoker {

struct Attended {
  Value query, key, value;    // [B, T, heads, dim]; the query's heads may be a multiple
  Value query_mask = {};      // bool [B, Tq]: masked queries see no key; undefined: none
  Value key_mask = {};        // bool [B, Tk]; undefined: none
  Value attention_mask = {};  // bool [Tq, Tk], [B, Tq, Tk] or [B, heads, Tq, Tk]; undefined: none
  bool causal = false;
  int64_t window = 0;  // a query sees keys less than this many steps away; 0: all
  double scale = 1;
  double rate = 0;  // of dropout, in training
  bool with_scores = false;
};
struct AttendedResult {
  Value output;  // [B, Tq, heads, value dim]
  Value scores;  // [B, heads, Tq, Tk] before dropout, if asked for
};
AttendedResult attend(const Attended& operands, CallContext& context);

// softmax(scores) over the last axis where `seen` (undefined: everywhere) is true, and 0 elsewhere.
Value masked_softmax(const Value& scores, const Value& seen);
// As ops::dropout in training, with a rate above 0.
Value dropped(const Value& x, double rate, CallContext& context);
// bool [Tq, Tk]: query t sees the keys up to t.
Value causal_mask(int64_t queries, int64_t keys);
// `output` [B, Tq, …] with zeros for masked queries; the mask [B, Tq] may be undefined.
Value without_masked(const Value& output, const Value& query_mask);

}  // namespace stoker
