// What a trained model is tested on: the validation set of a job, or all of its data where it has
// none, as the model takes it.
#pragma once

#include "jobs/data_spec.h"
#include "jobs/run_folder.h"

namespace stoker::jobs {

struct TestData {
  Job job;  // with what the model says of the data filled in
  JobData data;
  const Examples& examples() const { return data.validation ? *data.validation : data.train; }
  data::Dataset batches() const { return plain_batches(job, data, examples(), job.batch.size); }
};
// ShapeError when the data gives what the model does not take.
TestData open_test_data(const TrainedModel& trained, Job job);

}  // namespace stoker::jobs
