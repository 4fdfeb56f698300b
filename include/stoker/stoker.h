// All of Stoker.
#pragma once

#include <stoker/attrs.h>
#include <stoker/batch.h>
#include <stoker/callbacks.h>
#include <stoker/context.h>
#include <stoker/dtype.h>
#include <stoker/error.h>
#include <stoker/function.h>
#include <stoker/history.h>
#include <stoker/idx.h>
#include <stoker/initializers.h>
#include <stoker/layer.h>
#include <stoker/layers.h>
#include <stoker/losses.h>
#include <stoker/metrics.h>
#include <stoker/model.h>
#include <stoker/ops.h>
#include <stoker/optimizers.h>
#include <stoker/random.h>
#include <stoker/regularizers.h>
#include <stoker/run_plan.h>
#include <stoker/shape.h>
#include <stoker/tensor.h>
#include <stoker/value.h>
#include <stoker/variable.h>
#include <stoker/version.h>
