// What was found, one entry a place with its count, and how it is written: JSON lines.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime.hpp"

bool checking = false;

namespace {

constexpr unsigned kMaxFindings = 256;

Finding findings[kMaxFindings];
unsigned finding_count;
long not_kept, errors;

bool same_place(const Where& a, const Where& b) {
    const bool straight = a.pc == b.pc && a.other_pc == b.other_pc &&
                          a.line == b.line && a.other_line == b.other_line;
    const bool crossed = a.pc == b.other_pc && a.other_pc == b.pc &&
                         a.line == b.other_line && a.other_line == b.line;
    return a.place == b.place && (straight || crossed);
}

struct Place {
    const char* file;
    uint32_t line, column;
};

void write_where(char* text, size_t room, const Where& w) {
    if (w.place != nullptr) {
        const Place& p = *static_cast<const Place*>(w.place);
        snprintf(text, room, "\"file\":\"%.200s\",\"line\":%u,\"other_line\":null", p.file,
                 p.line);
    } else if (w.line != 0) {
        snprintf(text, room, "\"line\":%d,\"other_line\":%d", w.line, w.other_line);
    } else {
        snprintf(text, room, "\"pc\":%u,\"other_pc\":%u", w.pc, w.other_pc);
    }
}

int write_finding(char* text, size_t room, const Finding& f) {
    char where[256];
    write_where(where, sizeof where, f.where);
    const uint3 &b = f.block, &t = f.thread, &ob = f.other_block, &ot = f.other_thread;
    return snprintf(text, room,
                    "{\"check\":\"%s\",\"kind\":\"%s\",\"level\":\"%s\",\"count\":%ld,"
                    "\"block\":[%u,%u,%u],\"thread\":[%u,%u,%u],\"other_block\":[%u,%u,%u],"
                    "\"other_thread\":[%u,%u,%u],%s%s}\n",
                    f.check, f.kind, f.error ? "error" : "notice", f.count, b.x, b.y, b.z,
                    t.x, t.y, t.z, ob.x, ob.y, ob.z, ot.x, ot.y, ot.z, where, f.detail);
}

}  // namespace

bool has_errors() { return errors != 0; }

Finding* found(const char* check, const char* kind, bool error, const Where& where) {
    if (error) ++errors;
    for (unsigned i = 0; i < finding_count; ++i) {
        Finding& f = findings[i];
        if (!same_place(f.where, where)) continue;
        if (strcmp(f.kind, kind) != 0 || strcmp(f.check, check) != 0) continue;
        ++f.count;
        return nullptr;
    }
    if (finding_count == kMaxFindings) {
        ++not_kept;
        return nullptr;
    }
    Finding& f = findings[finding_count++];
    f = Finding{};
    f.check = check;
    f.kind = kind;
    f.error = error;
    f.where = where;
    f.count = 1;
    f.thread = f.other_thread = thread_position(active_thread);
    f.block = f.other_block = block_position(active_block);
    return &f;
}

void detail(Finding* f, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->detail, sizeof f->detail, format, arguments);
    va_end(arguments);
}

void report_sync(const char* kind, bool error, int line, int other_line,
                 unsigned thread, unsigned other_thread, unsigned arrived) {
    if (!checking) return;
    Finding* f = found("synccheck", kind, error, {0, 0, line, other_line, nullptr});
    if (f == nullptr) return;
    f->thread = thread_position(thread);
    f->other_thread = thread_position(other_thread);
    detail(f, ",\"arrived\":%u", arrived);
}

void report_fault(uintptr_t address) {
    if (!checking || !inside_kernel() || has_errors()) return;  // a finding led here
    if (Finding* f = found("memcheck", "fault", true, {0, 0, 0, 0, nullptr}))
        detail(f, ",\"address\":\"0x%zx\"", size_t(address));
}


long write_findings(char* text, size_t capacity, size_t* length) {
    *length = 0;
    for (unsigned i = 0; i < finding_count; ++i) {
        const int size = write_finding(text + *length, capacity - *length, findings[i]);
        if (size < 0 || size_t(size) >= capacity - *length) {
            ++not_kept;
            break;
        }
        *length += size_t(size);
    }
    if (not_kept != 0) {
        const int size = snprintf(text + *length, capacity - *length,
                                  "{\"not_kept\":%ld}\n", not_kept);
        if (size > 0 && size_t(size) < capacity - *length) *length += size_t(size);
    }
    return errors;
}
