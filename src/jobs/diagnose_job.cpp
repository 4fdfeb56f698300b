#include "jobs/diagnose_job.h"

#include <ostream>

#include <stoker/doctor.h>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "jobs/data_spec.h"
#include "jobs/train_job.h"
#include "observe/report_json.h"

namespace stoker::jobs {

namespace {

constexpr int64_t kUsualBatch = 32;

}  // namespace

nlohmann::json diagnose_job(const Job& asked, int64_t steps, bool fix, std::ostream* out) {
  configure_context(asked, out);
  JobData data = open_data(asked);
  Job job = fitted_job(asked, data.outputs());
  int64_t batch = job.batch.size > 0 ? job.batch.size : kUsualBatch;
  Model model = make_model(job, data);
  compile_model(job, model);
  if (out != nullptr)
    *out << data.text << "\nwatching " << steps << " steps of batch " << batch << " …\n\n"
         << std::flush;
  doctor::Diagnosis diagnosis =
      doctor::diagnose(model, training_batches(job, data, batch), {.steps = steps, .fix = fix});
  if (out != nullptr) *out << printable_lines(diagnosis.text());
  if (!job.out.empty()) {
    diagnosis.write(job.out);
    if (out != nullptr) *out << "Report: " << job.out << "/doctor.html\n";
  }
  return doctor::diagnosis_json(diagnosis);
}

}  // namespace stoker::jobs
