// Data specs: where the pictures or rows of a job come from, in one word of a command line.
//   DIR            a folder of images, one folder a class; DIR/train and DIR/val (or validation,
//                  valid, test) where they are
//   idx:DIR        MNIST's four files, plain or .gz; the t10k ones validate
//   shards:DIR     what `stoker prepare` or Dataset::save wrote: DIR, or DIR/train and DIR/val
//   tfrecord:GLOB  tf.Examples with an encoded image and a label
//   csv:GLOB       a table: columns of numbers or texts, and a label or a number to predict
//   svmlight:GLOB  sparse rows of svmlight and LIBSVM; whole labels are classes
//   npz:FILE       arrays x_train and y_train (or x and y); x_test and y_test (x_val, y_val) validate
//   npy:DIR        the same from DIR/x_train.npy, …
// Data that brings no validation set is split by a draw that depends on nothing but its size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/dataset.h>

#include "jobs/data_names.h"
#include "jobs/job.h"

namespace stoker::jobs {

// Elements (picture, label) as they are stored: encoded bytes[], or uint8 or float32 [H, W, C]. In a
// table, rows of float32 [columns] stand in for pictures.
struct Examples {
  data::Dataset elements;
  bool encoded() const { return elements.spec()[0].dtype == DType::bytes; }
  bool table() const { return elements.spec()[0].shape.rank() == 1; }
};

// Of a model: one per class, or one per number to predict.
struct Outputs {
  int64_t count = 0;
  bool classes = true;
};

struct JobData {
  Examples train;
  std::optional<Examples> validation = {};
  int64_t classes = 0;  // 0: numbers are predicted
  DataNames names = {};
  TensorSpec picture = {};  // that the model gets
  std::string text = {};    // a line for people
  Outputs outputs() const;  // that the model needs
};

// Lists and opens, reads arrays into memory; no picture is decoded. FileError or ValueError for
// what is not there or cannot be. `known`: of the model that the data is for; none: the data's.
JobData open_data(const Job& job, const DataNames& known = {});

// The job with loss and metrics for these outputs: where numbers are predicted and the job has the
// usual ones, which are for classes, the mean squared and the mean absolute error.
Job fitted_job(Job job, const Outputs& outputs);

// Batches for fit: shuffled, augmented if the job says so, the same for the same seed.
data::Dataset training_batches(const Job& job, const JobData& data, int64_t batch);
// Pictures as the model gets them, in the order of the data.
data::Dataset plain_elements(const JobData& data, const Examples& examples);
// In the order of the data, each picture whole: for evaluate and predict.
data::Dataset plain_batches(const Job& job, const JobData& data, const Examples& examples,
                            int64_t batch);

}  // namespace stoker::jobs
