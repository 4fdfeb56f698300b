// The eigenvalues and eigenvectors of a symmetric matrix, in O(n³): for kernels of a thousand rows,
// where the rotations of engine/matrix_math.h take minutes.
#pragma once

#include <vector>

namespace stoker::compress {

struct SymmetricEigen {
  std::vector<double> values;                // descending
  std::vector<std::vector<double>> vectors;  // of length 1; one per value
};

// rows: the n rows of the matrix.
SymmetricEigen symmetric_eigen(std::vector<std::vector<double>> rows);

}  // namespace stoker::compress
