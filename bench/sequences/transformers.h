// The rows of Transformers on a CPU: a training step of a small encoder and of ViT-S/16, and 200 tokens
// from a GPT with a cache. Peers: transformers_peer.py beside it.
#pragma once

#include <string>

#include <stoker/model.h>

#include "common/report.h"

namespace stoker::bench {

struct TransformerArguments {
  std::string peer;  // the script; empty: none
  std::string only;  // part of a row's name; empty: all
};

struct Gpt {
  int layers;
  int64_t width, heads, vocabulary, length;
};
// Token and position embeddings, pre-norm blocks, the embeddings again as the head.
Model gpt_model(const Gpt& gpt);

void add_transformers(Report& report, const TransformerArguments& arguments);

// One row's work on request (common/serve.h). ValueError: there is no such row.
int serve_transformer(const std::string& row);

}  // namespace stoker::bench
