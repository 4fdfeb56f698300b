#include "jobs/test_data.h"

#include <fmt/format.h>

#include "jobs/table_data.h"

namespace stoker::jobs {

TestData open_test_data(const TrainedModel& trained, Job job) {
  TensorSpec picture = input_of(trained);
  if (picture.shape.rank() == 3) job.image_size = ImageSize{picture.shape[0], picture.shape[1]};
  job.loss = trained.job.loss;  // says whether classes or numbers are predicted
  if (!job.classes && learns_classes(job)) job.classes = trained.model.outputs()[0].shape()[-1];
  if (job.batch.size == 0) job.batch.size = 64;
  JobData data = open_data(job, trained.names);
  if (data.picture.shape != picture.shape)
    throw ShapeError(fmt::format("{}: the model takes {}, but the data gives {}", trained.path,
                                 to_string(picture.shape), to_string(data.picture.shape)));
  return {std::move(job), std::move(data)};
}

}  // namespace stoker::jobs
