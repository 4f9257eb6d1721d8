// Fault: three bytes of each word are written, then the word is read. Refused by gate
// 2, initcheck (reason uninitialized-read).
extern "C" __global__ void three_of_four_bytes(unsigned* y) {
    __shared__ unsigned words[64];
    const unsigned t = threadIdx.x;
    unsigned char* bytes = reinterpret_cast<unsigned char*>(&words[t]);
    for (unsigned k = 0; k < 3; ++k) {
        bytes[k] = static_cast<unsigned char>(t + k);
    }
    y[t] = words[t];  // FAULT
}
