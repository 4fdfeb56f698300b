// The rows of Transformers on a CPU: a training step of a small encoder and of ViT-S/16, and 200 tokens
// from a GPT with a cache. Peers: transformers_peer.py beside it.
#pragma once

#include <string>

#include "common/report.h"

namespace stoker::bench {

struct TransformerArguments {
  std::string peer;  // the script; empty: none
  std::string only;  // part of a row's name; empty: all
};

void add_transformers(Report& report, const TransformerArguments& arguments);

}  // namespace stoker::bench
