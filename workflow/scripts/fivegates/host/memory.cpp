// Pages that are committed when they are touched, and the one way to give up.

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime.hpp"

void refuse(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("runner: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    fflush(stderr);
    _exit(2);
}

void* reserve(size_t size, bool shared) {
    void* memory = mmap(nullptr, size + 1, PROT_READ | PROT_WRITE,
                        (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
    if (memory == MAP_FAILED) refuse("no memory for %zu bytes", size);
    return memory;
}
