// On how many devices and processes a job trains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/distribute.h>

#include "jobs/job.h"

namespace stoker::jobs {

// The devices of `--devices`: "all", "4" (that many GPUs, or parts of the CPU where there is none),
// "cpu:4" (four parts of the CPU), "cuda:4" (four GPUs), or names with commas between them. ValueError for
// anything else. "all" gives an empty list, which a strategy takes for all.
std::vector<std::string> devices_of(const std::string& text);

// Null: one device, in one process.
std::unique_ptr<Strategy> strategy_of(const Job& job);

// What the first process was told, drew and found in its folder holds for all. Collective; does nothing in
// one process.
void share_choices(Job& job);

// Whether this process prints what happened: only the first one alive does.
bool speaks();

// Which of the processes that a launcher started this is, as far as its environment says; 0 alone.
int64_t process_number();

}  // namespace stoker::jobs
