#include "distribute/mpi/mpi_transport.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "distribute/mpi/pause.h"
#include "distribute/mpi/sum_queue.h"
#include "distribute/mpi/watch.h"

namespace stoker::distribute {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kListen{10};  // between looks at the watch's messages

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(std::chrono::milliseconds deadline) : deadline_(deadline) {
    std::promise<void> begun;
    thread_ = std::thread([this, &begun] { work(begun); });
    try {
      begun.get_future().get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  ~MpiTransport() override {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int process() const override { return process_; }
  int processes() const override { return processes_; }
  int local_process() const override { return local_process_; }
  int local_processes() const override { return local_processes_; }
  std::string host(int process) const override { return hosts_[size_t(process)]; }
  void set_deadline(std::chrono::milliseconds deadline) { deadline_ = deadline; }

  void start(Exchange exchange, std::function<void(std::exception_ptr)> done) override {
    size_t most = mpi::SumJob::most_elements(processes_, exchange.wire);
    size_t pieces = (exchange.elements + most - 1) / most;
    if (pieces == 0) return done(nullptr);
    std::lock_guard lock(mutex_);
    for (size_t piece = 0; piece < pieces; ++piece) {
      size_t begin = piece * most;
      Exchange part = exchange;
      part.elements = std::min(exchange.elements - begin, most);
      for (void*& data : part.contributions)
        data = static_cast<std::byte*>(data) + begin * memory_size(exchange.wire);
      bool last = piece + 1 == pieces;
      new_sums_.push_back({std::make_unique<mpi::SumJob>(std::move(part), next_job_++, shared_),
                           last ? std::move(done) : nullptr, Clock::now()});
    }
    changed_.notify_all();
  }

  void all_gather(const void* mine, size_t bytes, void* all) override {
    control("gathering", [=](MPI_Comm comm, MPI_Request* request) {
      return MPI_Iallgather(mine, int(bytes), MPI_BYTE, all, int(bytes), MPI_BYTE, comm, request);
    });
  }
  void broadcast(void* data, size_t bytes, int root) override {
    constexpr size_t kMost = size_t(1) << 30;
    for (size_t begin = 0; begin < bytes; begin += kMost) {
      void* from = static_cast<std::byte*>(data) + begin;
      int count = int(std::min(kMost, bytes - begin));
      control("broadcasting", [=](MPI_Comm comm, MPI_Request* request) {
        return MPI_Ibcast(from, count, MPI_BYTE, root, comm, request);
      });
    }
  }
  void wait_begins() override {
    ++waiting_;
    changed_.notify_all();
  }
  void wait_ends() override { --waiting_; }
  void set_place(int64_t epoch, int64_t step) override { watch_->set_place(epoch, step); }
  bool speaks() const override { return watch_->speaks(); }
  void fail(const std::string& why) noexcept override {
    try {
      watch_->fail(why);
      changed_.notify_all();
    } catch (...) {  // no memory for a message: the others will find out by their deadline
    }
  }

  void barrier() override {
    control("a barrier",
            [](MPI_Comm comm, MPI_Request* request) { return MPI_Ibarrier(comm, request); });
  }

 private:
  // A call that its caller waits for.
  struct Control {
    const char* what;
    std::function<int(MPI_Comm, MPI_Request*)> begin;
    std::promise<void> ended;
    Clock::time_point begun;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void control(const char* what, std::function<int(MPI_Comm, MPI_Request*)> begin) {
    std::future<void> ended;
    {
      std::lock_guard lock(mutex_);
      auto call = std::make_unique<Control>();
      *call = {.what = what, .begin = std::move(begin), .ended = {}, .begun = Clock::now()};
      ended = call->ended.get_future();
      new_controls_.push_back(std::move(call));
    }
    changed_.notify_all();
    ended.get();
  }

  // --- the communication thread ---

  struct Comms {
    mpi::Comm exchange, gather, control, beats;
    void release() {
      exchange.release();
      gather.release();
      control.release();
      beats.release();
    }
  };

  void initialise() {
    int initialised = 0, level = 0;
    MPI_Initialized(&initialised);
    if (initialised == 0) {
      mpi::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
      finalises_ = true;
    } else {
      MPI_Query_thread(&level);
      if (level < MPI_THREAD_MULTIPLE)
        throw CollectiveError(
            "MPI was initialised before the strategy was made, for one thread; call "
            "MPI_Init_thread with MPI_THREAD_MULTIPLE, or leave it to the strategy");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &process_);
    MPI_Comm_size(MPI_COMM_WORLD, &processes_);
    MPI_Comm host = MPI_COMM_NULL;
    mpi::check(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, process_, MPI_INFO_NULL, &host),
        "the processes of a host");
    MPI_Comm_rank(host, &local_process_);
    MPI_Comm_size(host, &local_processes_);
    std::vector<int> together(size_t(processes_), -1);
    int own_host = process_;
    MPI_Bcast(&own_host, 1, MPI_INT, 0, host);
    MPI_Allgather(&own_host, 1, MPI_INT, together.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<bool> local;
    for (int other : together) local.push_back(other == own_host);
    MPI_Comm_free(&host);
    constexpr size_t kName = MPI_MAX_PROCESSOR_NAME;
    std::vector<char> mine(kName), all(kName * size_t(processes_));
    int length = 0;
    MPI_Get_processor_name(mine.data(), &length);
    MPI_Allgather(mine.data(), int(kName), MPI_CHAR, all.data(), int(kName), MPI_CHAR,
                  MPI_COMM_WORLD);
    for (int process = 0; process < processes_; ++process)
      hosts_.emplace_back(all.data() + kName * size_t(process));
    watch_ = std::make_unique<mpi::Watch>(process_, hosts_, std::move(local));
  }

  void work(std::promise<void>& begun) {
    std::unique_ptr<Comms> comms;
    try {
      initialise();
      comms = std::make_unique<Comms>();
    } catch (...) {
      begun.set_exception(std::current_exception());
      return;
    }
    comms_ = comms.get();
    shared_.exchange = comms->exchange.get();
    shared_.gather = comms->gather.get();
    shared_.process = process_;
    shared_.processes = processes_;
    mpi::wake_promptly();
    begun.set_value();
    while (take_new(*comms)) advance(*comms);
    say_goodbye(*comms);
    // After a failure other processes may be gone or hang: finalising would wait for them.
    if (failure_ || watch_->has_failed()) MPI_Abort(MPI_COMM_WORLD, 1);
    comms->release();
    if (finalises_) MPI_Finalize();
  }

  // The others hear that this process is over; those that fail have said so before they end, and have a
  // moment to say it to people.
  void say_goodbye(Comms& comms) {
    using namespace std::chrono_literals;
    watch_->end();
    bool failed = failure_ || watch_->has_failed();
    Clock::time_point until = Clock::now() + 3s;
    do {
      beat(comms);
      if (failed) std::this_thread::yield();
    } while (failed && !watch_->all_over() && Clock::now() < until);
  }

  // Who lives, and whether another process has given up.
  void beat(Comms& comms) {
    listened_ = Clock::now();
    try {
      watch_->tick(comms.beats.get(), Clock::now());
    } catch (const CollectiveError&) {
      // A peer whose connection broke says nothing any more: the deadline names it.
    }
    if (failure_ || watch_->has_failed()) return;
    if (watch_->fault().empty()) return;
    // Another process may have failed because one died, and heard of it first.
    watch_->look_up_now();
    failure_ = std::make_exception_ptr(CollectiveError(watch_->fault()));
  }

  // False: nothing is left, and the transport ends.
  bool take_new(Comms& comms) {
    std::deque<std::unique_ptr<Control>> controls;
    {
      std::unique_lock lock(mutex_);
      bool waited_for = waiting_ > 0;
      auto something = [&] {
        return ending_ || !new_sums_.empty() || !new_controls_.empty() ||
               (waiting_ > 0 && !waited_for);
      };
      bool idle = sums_.empty() && controls_.empty();
      if (idle)
        changed_.wait_for(lock, mpi::Watch::kBeat, something);
      else if (auto pause = pause_.next(waited_for || !controls_.empty(), Clock::now());
               pause.count() > 0)
        changed_.wait_for(lock, pause, something);
      if (ending_ && idle && new_sums_.empty() && new_controls_.empty()) return false;
      sums_.add(new_sums_);
      controls.swap(new_controls_);
    }
    attempt([&] { begin_sums(); });
    for (auto& call : controls) {
      attempt([&] { mpi::check(call->begin(comms.control.get(), &call->request), call->what); });
      controls_.push_back(std::move(call));
      pause_.moved(Clock::now());
    }
    return true;
  }

  void begin_sums() {
    int64_t begun = sums_.begin(mpi::SumJob::most_at_once(processes_));
    watch_->count_sums(begun);
    if (begun > 0) pause_.moved(Clock::now());
  }

  template <class Body>
  void attempt(const Body& body) {
    if (failure_) return;
    try {
      body();
    } catch (const mpi::CallError&) {
      failure_ = cause_of(std::current_exception());
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  // MPI may notice before the watch does that a process is gone, and does not say which one. Those of
  // this host are known at once, others by their silence.
  std::exception_ptr cause_of(const std::exception_ptr& error) {
    Clock::time_point until = Clock::now() + mpi::Watch::kSilent + 2 * mpi::Watch::kBeat;
    do {
      watch_->look_up_now();
      beat(*comms_);
      if (failure_) return failure_;
      std::this_thread::yield();
    } while (Clock::now() < until);
    return error;
  }

  // Where this process was stopped, its calls did not wait in the meantime.
  void leave_out_stops() {
    Clock::time_point now = Clock::now();
    Clock::duration gap = now - std::exchange(seen_, now);
    if (gap < mpi::Watch::kSilent) return;
    sums_.leave_out(gap);
    for (auto& call : controls_) call->begun += gap;
  }

  void expect_in_time(const Clock::time_point& begun, const char* what) {
    leave_out_stops();  // may move `begun`
    if (Clock::now() - begun < deadline_.load()) return;
    throw CollectiveError(watch_->missing(what, deadline_.load()));
  }

  void advance(Comms& comms) {
    leave_out_stops();
    if (Clock::now() - listened_ >= kListen || sums_.empty()) beat(comms);
    attempt([&] {
      if (sums_.advance(shared_.requests)) pause_.moved(Clock::now());
      sums_.finish();
      begin_sums();
      if (const Clock::time_point* begun = sums_.oldest())
        expect_in_time(*begun, "a sum over replicas");
    });
    if (failure_) sums_.give_up(failure_);
    while (!controls_.empty() && finished(*controls_.front())) controls_.pop_front();
  }

  bool finished(Control& call) {
    int done = 0;
    attempt([&] {
      mpi::check(MPI_Test(&call.request, &done, MPI_STATUS_IGNORE), call.what);
      if (done == 0) expect_in_time(call.begun, call.what);
    });
    if (done == 0 && !failure_) return false;
    if (done != 0)
      call.ended.set_value();
    else
      call.ended.set_exception(failure_);
    pause_.moved(Clock::now());
    return true;
  }

  std::atomic<std::chrono::milliseconds> deadline_;
  int process_ = 0, processes_ = 1, local_process_ = 0, local_processes_ = 1;
  std::vector<std::string> hosts_;
  std::unique_ptr<mpi::Watch> watch_;  // once MPI runs
  bool finalises_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<mpi::SumQueue::Sum> new_sums_;
  std::deque<std::unique_ptr<Control>> new_controls_;
  uint64_t next_job_ = 0;
  bool ending_ = false;
  std::atomic<int> waiting_ = 0;  // threads that have nothing else to do

  // Of the communication thread alone; what a job needs is set before the first one is made.
  mpi::SumJob::Shared shared_;
  mpi::SumQueue sums_;
  std::deque<std::unique_ptr<Control>> controls_;
  Comms* comms_ = nullptr;
  std::exception_ptr failure_;
  mpi::Pause pause_;
  Clock::time_point listened_;             // to the watch's messages
  Clock::time_point seen_ = Clock::now();  // by leave_out_stops()

  std::thread thread_;  // last: it uses the rest
};

}  // namespace

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, size_t(length));
  return version.substr(0, version.find(','));
}

namespace {

std::atomic<Transport*> the_transport = nullptr;

}  // namespace

Transport* current_transport() { return the_transport; }

Transport& mpi_transport(std::chrono::milliseconds deadline) {
  static MpiTransport transport(deadline);
  transport.set_deadline(deadline);
  the_transport = &transport;
  return transport;
}

}  // namespace stoker::distribute
