// Every number that a verdict, a prescription or a check of the machine depends on, and when a fit is looked at. Shares are
// of a step unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker::doctor {

// --- what is enough to judge by ---
inline constexpr int64_t kLeastSteps = 50;      // for a verdict
inline constexpr int64_t kLeastSaid = 6;        // for a line of advice behind a short fit
inline constexpr double kMostVariation = 0.20;  // of the device's part
inline constexpr double kMostUnexplained = 0.03;

// --- when a running fit is looked at ---
inline constexpr int64_t kWarmUp = 10;  // steps that do not count
inline constexpr int64_t kReadingNs = 1'000'000'000;
inline constexpr int64_t kCountersAfterNs = 100'000'000;   // reading takes tenths of a millisecond
inline constexpr int64_t kFirstLook = 60;                  // steps before the first word
inline constexpr size_t kWordWindow = 300;                 // steps that the word is made of
inline constexpr int64_t kPeaksAfterNs = 100'000'000'000;  // measuring them takes up to a second
inline constexpr int64_t kPatience = 30;                   // steps before tuning begins

// --- input ---
inline constexpr double kInputHigh = 0.20, kInputModerate = 0.05;
inline constexpr double kReady = 0.95;         // of steps: the batch was there
inline constexpr double kLongWaitNs = 50'000;  // a batch that came sooner was ready
inline constexpr double kReadyOfStep = 0.2;    // the same for steps that are shorter than that
inline constexpr double kLateShare = 0.8;      // of all waiting: in steps whose batch was late
inline constexpr double kLost = 0.10;          // computing that is gone while the pipeline pauses
inline constexpr double kBlocked = 0.50;       // of a stage's time: off the cores
inline constexpr double kSaturated = 0.90;     // of the cores
inline constexpr double kWorkersBusy = 0.85;   // of the workers' time

// --- contention ---
inline constexpr double kWanted = 1.10;         // of the cores, by the program's own threads
inline constexpr double kPipelineCores = 0.60;  // of the cores: more, and its work is the limit
inline constexpr double kBesides = 0.5;    // cores: so much of the pipeline slows the computing
inline constexpr double kSpinning = 0.25;  // cores, held by threads that wait

// --- ranks ---
inline constexpr double kRanksWait = 0.10, kRanksHigh = 0.30;  // of a step, by a rank in the middle
inline constexpr double kRankSlower = 0.05;  // of a step: longer than the others need
inline constexpr double kMoreRows = 1.1;     // times the others'

// --- copy, launch, sync ---
inline constexpr double kCopy = 0.05, kCopyOfInput = 0.30;
inline constexpr double kProof = 0.5;   // of what copies are said to take: gone in a step without
inline constexpr double kFloats = 0.5;  // of the copied bytes: float32 that could be uint8
inline constexpr double kLaunchHigh = 0.15, kLaunchModerate = 0.03;
inline constexpr double kSync = 0.05;
inline constexpr double kHeld = 0.20;  // by callbacks or host layers: they delay calls, too

// --- between the epochs ---
inline constexpr double kBetween = 0.30;  // of an epoch: no step
inline constexpr double kMade = 0.5;      // of what the host does between steps: compiling

// --- a busy device: shares of its measured peaks, of its memory, of its time ---
inline constexpr double kBusy = 0.70, kIdle = 0.50;
inline constexpr double kClearly = 2;        // times as much at one peak as at the other
inline constexpr double kMemoryFree = 0.50;  // in use at most, for a larger batch to be the advice
inline constexpr double kMemoryFull = 0.90;
inline constexpr double kLargeConv = 0.20;  // of the computing, for a convolution to be singled out
inline constexpr double kSeparable = 2;     // times fewer FLOPs, for a separable one to be worth it
inline constexpr double kManyProducts =
    0.30;                                    // of the computing, for fewer channels to be worth it
inline constexpr double kDoubled = 0.7;      // of a step per sample in twice the batch, untried
inline constexpr double kHalved = 0.5;       // of the computing in 16-bit products, untried
inline constexpr double kPrunedFlops = 0.5;  // that are left, for fewer channels to be proposed

// --- kernels: ops far below their limit, with what the usual share of it would gain ---
inline constexpr double kFarBelow = 0.30, kUsual = 0.60;  // of the larger of the two shares
inline constexpr double kSlowGain = 0.20;                 // of the computing, for a verdict
inline constexpr double kLongOpNs = 30'000;               // shorter ones are a matter of the batch
inline constexpr double kTogether = 0.60;  // of that gain: by one kind of op, or one layer
// Of what an op reaches, or a step takes per sample, in twice the batch: below, half of its time or
// more is the same for any batch, and that is the batch's fault.
inline constexpr double kBatchHelps = 0.75;

// --- health ---
inline constexpr double kThrottled = 0.03;
// The training thread was ready to run for so much of the time while others used so many cores.
inline constexpr double kRunDelay = 0.10, kOtherCores = 0.5;

// --- the machine, as `stoker doctor --env` judges it ---
inline constexpr double kSamePower = 0.98, kSameClock = 0.95;  // of what the GPU could have
inline constexpr double kThrottledMachine = 0.01;              // of the time
inline constexpr double kBusyGpu = 0.5;        // use from which a link runs at its full speed
inline constexpr double kMuchOfMemory = 0.25;  // of a GPU, held by others
inline constexpr double kSlowDisk = 30e6;      // bytes per second
inline constexpr int64_t kLittleMemory = int64_t(1) << 30, kLittleSpace = int64_t(1) << 30;
inline constexpr int64_t kLittleShared = int64_t(1) << 30;
inline constexpr int64_t kFewThreads = 64;

// --- what is worth doing and saying ---
inline constexpr double kWorthIt = 0.03;              // gain of a remedy, measured or predicted
inline constexpr double kWorthSaying = 0.10;          // waiting that a line of an epoch tells
inline constexpr double kWorthSayingSeconds = 0.010;  // and at least so much of it in an epoch

}  // namespace stoker::doctor
