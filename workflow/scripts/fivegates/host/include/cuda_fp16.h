// NVIDIA's header, and what it leaves to the device.
#pragma once
#include_next <cuda_fp16.h>

inline __half __hfma(__half a, __half b, __half c) {
    // The product of two halves is exact in double, and so is the sum but for its last bits.
    return __double2half(double(__half2float(a)) * double(__half2float(b)) +
                         double(__half2float(c)));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __halves2half2(__hfma(__low2half(a), __low2half(b), __low2half(c)),
                          __hfma(__high2half(a), __high2half(b), __high2half(c)));
}
inline __half hexp(__half x) { return __float2half(expf(__half2float(x))); }
