#include "distribute/mpi/requests.h"

namespace stoker::distribute::mpi {

void Requests::add(MPI_Request request, int& pending) {
  ++pending;
  requests_.push_back(request);
  pending_.push_back(&pending);
}

bool Requests::advance() {
  if (requests_.empty()) return false;
  ended_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  int code = MPI_Testsome(int(requests_.size()), requests_.data(), &count, ended_.data(),
                          statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i) check(statuses_[size_t(i)].MPI_ERROR, "a sum");
  check(code, "a sum");
  if (count <= 0) return false;
  for (int i = 0; i < count; ++i) --*pending_[size_t(ended_[size_t(i)])];
  size_t kept = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    pending_[kept++] = pending_[i];
  }
  requests_.resize(kept);
  pending_.resize(kept);
  return true;
}

}  // namespace stoker::distribute::mpi
