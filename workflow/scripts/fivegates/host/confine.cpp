// Takes the child's system calls away before any code of the arm runs. What is left is
// to end, and to return from the handler of a fault. The build with AddressSanitizer
// keeps memory and its standard error; everything else it asks for is refused.

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "runtime.hpp"

namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

#define LOAD(FIELD) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, FIELD))
#define END(ACTION) BPF_STMT(BPF_RET | BPF_K, ACTION)
#define ALLOW(CALL) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1), END(SECCOMP_RET_ALLOW)

sock_filter program[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
    END(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_exit),
    ALLOW(SYS_rt_sigreturn),
#if defined(FIVEGATES_ADDRESS)
    ALLOW(SYS_munmap),
    ALLOW(SYS_madvise),
    ALLOW(SYS_futex),
    ALLOW(SYS_sched_yield),
    ALLOW(SYS_gettid),
    ALLOW(SYS_getpid),
    ALLOW(SYS_clock_gettime),
    // mmap of anonymous memory: its fifth argument, the file, is -1.
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
    LOAD(args[4]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffffu, 0, 1),
    END(SECCOMP_RET_ALLOW),
    END(SECCOMP_RET_ERRNO | EPERM),
    // write to standard error, which the runner's parent bounds
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1),
    END(SECCOMP_RET_ALLOW),
    END(SECCOMP_RET_ERRNO | EPERM),
#else
    END(SECCOMP_RET_KILL_PROCESS),
#endif
};

}  // namespace

void confine() {
    const sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        refuse("no seccomp here, expected a kernel that can confine a process");
    }
}
