// Sums over replicas: the operands are gathered in a bucket, which is summed while the program goes
// on. float32 gradients are written there row-major by the reorder that they need anyway, and their sums
// are read where they lie; other dtypes are converted on the way in and out.
#include <cstring>

#include "engine/collective.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

// One operand in its bucket, whose elements are float or int64_t.
struct Section {
  DType dtype = DType::float32;
  int64_t begin = 0, elements = 0;
};

template <class To, class From>
void convert_all(const From* from, To* to, int64_t count) {
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = To(from[i]);
  });
}

// Calls body(T()) for the dtypes that a sum takes.
template <class Body>
void for_dtype(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float16:
      return body(Float16());
    case DType::bfloat16:
      return body(BFloat16());
    case DType::int32:
      return body(int32_t());
    case DType::int64:
      return body(int64_t());
    default:
      return body(float());
  }
}

template <class Element>
void pack(const Section& section, const void* operand, Element* bucket) {
  for_dtype(section.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> == std::is_integral_v<Element>)
      convert_all(static_cast<const T*>(operand), bucket + section.begin, section.elements);
  });
}

template <class Element>
void unpack(const Section& section, const Element* bucket, void* result) {
  for_dtype(section.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> == std::is_integral_v<Element>)
      convert_all(bucket + section.begin, static_cast<T*>(result), section.elements);
  });
}

struct Bucket {
  std::vector<Section> sections;
  int64_t elements = 0;
  Wire wire = Wire::float32;

  template <class Body>
  void with_elements(void* data, const Body& body) const {
    if (wire == Wire::int64)
      body(static_cast<int64_t*>(data));
    else
      body(static_cast<float*>(data));
  }
};

Bucket bucket_of(Builder& b, const Node& node) {
  Bucket bucket;
  for (int value : node.inputs) {
    int64_t count = b.shape(value).elements();
    bucket.sections.push_back({b.spec(value).dtype, bucket.elements, count});
    bucket.elements += count;
  }
  bucket.wire = is_floating(bucket.sections[0].dtype)
                    ? wire_from_name(node.attrs.get<std::string>("wire"))
                    : Wire::int64;
  return bucket;
}

// Operands that lie in the bucket as they are, and their sums too: by operand, that part of the bucket,
// or -1 for one that is converted.
std::vector<int> places_in(Builder& b, const Bucket& bucket, int memory) {
  size_t size = memory_size(bucket.wire);
  std::vector<int> places;
  for (const Section& section : bucket.sections) {
    bool as_it_is = section.dtype == (size == sizeof(float) ? DType::float32 : DType::int64);
    places.push_back(
        as_it_is ? b.part_of(memory, size_t(section.begin) * size, size_t(section.elements) * size)
                 : -1);
  }
  return places;
}

void build_all_reduce(Builder& b, const Node& node) {
  std::shared_ptr<Communicator> communicator = communicator_of(node.attrs);
  if (communicator == nullptr) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      int from = b.plain(node.inputs[i]);
      b.emit_copy(from, b.define(node.outputs[i]), Layout().bytes(b.spec(node.inputs[i])));
    }
    return;
  }
  Bucket bucket = bucket_of(b, node);
  std::string how = "all_reduce:" + std::string(name(bucket.wire));
  int memory = b.bucket(size_t(bucket.elements) * memory_size(bucket.wire));
  std::vector<int> places = places_in(b, bucket, memory);
  auto ticket = std::make_shared<uint64_t>(0);
  Call start{how, {}, {memory}};
  std::vector<Section> converted;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (places[i] >= 0) {
      b.emit_row_major(node.inputs[i], places[i]);
      continue;
    }
    start.reads.push_back(b.plain(node.inputs[i]));
    converted.push_back(bucket.sections[i]);
  }
  int into = int(start.reads.size());
  b.emit(std::move(start), [bucket, converted, into, ticket, communicator](Pointers p) {
    bucket.with_elements(p.out<void>(into), [&](auto* data) {
      for (size_t i = 0; i < converted.size(); ++i) pack(converted[i], p.in<void>(int(i)), data);
    });
    if (!communicator->is_alone())
      *ticket = communicator->start_sum({p.out<void>(into), size_t(bucket.elements), bucket.wire});
  });
  b.finish_later([&b, bucket, converted, places, how, memory, ticket, communicator, &node] {
    Call finish{how, {memory}, {}, "all_reduce_wait", b.index_of(node)};
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (places[i] < 0) finish.writes.push_back(b.define(node.outputs[i]));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (places[i] >= 0) {
        b.define_in(node.outputs[i], places[i]);
        finish.writes.push_back(places[i]);
      }
    b.emit(std::move(finish), [bucket, converted, ticket, communicator](Pointers p) {
      if (!communicator->is_alone()) communicator->wait(*ticket);
      bucket.with_elements(p.out<void>(0), [&](auto* data) {
        for (size_t i = 0; i < converted.size(); ++i)
          unpack(converted[i], data, p.out<void>(int(i) + 1));
      });
    });
  });
}

bool summable(DType dtype) {
  return is_floating(dtype) || dtype == DType::int32 || dtype == DType::int64;
}

}  // namespace

void add_collective_builders(OpBuilders& table) {
  table["all_reduce"] = {summable, build_all_reduce};
}

}  // namespace stoker::cpu
