// Clean: twin of three_of_four_bytes.cu, with all four bytes.
extern "C" __global__ void four_of_four_bytes(unsigned* y) {
    __shared__ unsigned words[64];
    const unsigned t = threadIdx.x;
    unsigned char* bytes = reinterpret_cast<unsigned char*>(&words[t]);
    for (unsigned k = 0; k < 4; ++k) {
        bytes[k] = static_cast<unsigned char>(t + k);
    }
    y[t] = words[t];
}
