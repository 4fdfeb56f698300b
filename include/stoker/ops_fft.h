// Fourier transforms of the last axis. There are no complex tensors: a complex one is its real and
// its imaginary part. A transform of n = n₁ · n₂ … elements is as many small matrix products, so it
// is fast where n has small factors; a large prime factor p takes p² multiplications for each.
// Always computed in float32.
#pragma once

#include <optional>
#include <string>

#include <stoker/value.h>

namespace stoker::ops {

struct Complex {
  Value real, imag;
};

Complex fft(const Complex& x);
Complex ifft(const Complex& x);
Complex fft2(const Complex& x);  // the last two axes
Complex ifft2(const Complex& x);
// Of real numbers: n / 2 + 1 frequencies. fft_length cuts or fills up with zeros first.
Complex rfft(const Value& x, std::optional<int64_t> fft_length = {});
Value irfft(const Complex& x, std::optional<int64_t> fft_length = {});
struct Stft {
  int64_t sequence_length = 0;
  int64_t sequence_stride = 0;
  int64_t fft_length = 0;
  std::string window = "hann";  // hamming, none
  bool center = true;           // windows stand around their place; the ends are mirrored
};
// [.., n] → [.., windows, fft_length / 2 + 1]
Complex stft(const Value& x, const Stft& options);
Value istft(const Complex& x, const Stft& options, std::optional<int64_t> length = {});

// --- complex numbers as pairs ------------------------------------------------------------------
Value magnitude(const Complex& x);  // the modulus
Value angle(const Complex& x);      // the argument
Value real(const Complex& x);
Value imag(const Complex& x);
Complex conjugate(const Complex& x);
Complex conj(const Complex& x);
Complex polar(const Value& magnitude, const Value& angle);
// [.., 2] and back: the real part stands first.
Complex view_as_complex(const Value& x);
Value view_as_real(const Complex& x);

}  // namespace stoker::ops
