// Who touched what, and may it: what CUDA means by memory, a race and initialisation.
//
// Each 4-byte cell of a region remembers its last write, its last atomic and two readers,
// and so does each byte that was touched by itself. An access is ordered behind an earlier
// one when the thread is the same, a barrier of the block lies between, a __syncwarp of the
// warp does, or when a fence behind the one and an atomic that both threads used lie
// between. A verdict does not depend on the order of execution as long as control flow
// does not.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime.hpp"

const char* dynamic_shared_name = "dynamic shared memory";

namespace {

constexpr unsigned kMaxRegions = 256, kMaxMappings = 256;
constexpr unsigned kMaxSlots = 4096;  // of atomics that blocks meet at
constexpr unsigned kProbes = 8;

struct Access {
    uint32_t serial;    // of the block, over all launches; 0 = none
    uint32_t pc;        // in the arm's image
    uint32_t time;      // ticks at barriers, fences and atomics, over all blocks
    uint16_t warp_clock;
    uint16_t thread : 10, bytes : 4, atomic : 1, is_volatile : 1;
};
static_assert(sizeof(Access) == 16, "three of them a cell, a million cells an array");

struct Initialised {
    uint32_t serial;
    uint8_t bytes;
};

// The accesses that cells, or single bytes, remember.
struct Shadow {
    Access *writes, *atomics, *reads, *more_reads;
};

struct Region {
    uintptr_t begin, end;
    const char* name;
    Space space;
    Shadow cells, bytes;
    bool has_bytes;        // whether any was touched by itself
    Initialised* written;  // null where the host initialised all
    uintptr_t base() const { return begin & ~uintptr_t(3); }
};

struct Mapping {
    uintptr_t begin, end;
};

// What a thread has released: its own accesses up to its fence, those of its block up to
// the barrier before that, to whoever meets the atomic at `time` or later.
struct Release {
    uint32_t time, fence, barrier, thread;
};

Region regions[kMaxRegions];
unsigned region_count;
Region* recent[2];
Mapping mappings[kMaxMappings];
unsigned mapping_count;
uintptr_t image_begin, image_end;
Mapping constants[kMaxMappings];  // of the arm's image, and what a compiler keeps there
unsigned constant_count;

uint32_t first_serial, serial;
uint32_t now_time, barrier_time;  // of the last barrier in this block
uint32_t warp_clocks[kMaxThreads][kWarp];
bool clocks_moved;
struct Fence {
    uint32_t time, barrier;
};
Fence fences[kMaxThreads];        // the last of each thread in this block; time 0 = none
uint32_t acquired[kMaxThreads];   // when each thread last met a released atomic
Release* releases;                // of every thread, block by block
unsigned threads;                 // of a block
uintptr_t slots[kMaxSlots];
bool slots_full;

uint32_t offset_of(const void* pc) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(pc);
    return address >= image_begin && address < image_end ? uint32_t(address - image_begin)
                                                         : 0;
}

// ---- memory -------------------------------------------------------------------------------

inline Region* region_at(uintptr_t address) {
    for (Region* r : recent) {
        if (r != nullptr && address - r->begin < r->end - r->begin) return r;
    }
    for (unsigned i = 0; i < region_count; ++i) {
        Region& r = regions[i];
        if (address - r.begin >= r.end - r.begin) continue;
        recent[1] = recent[0];
        recent[0] = &r;
        return &r;
    }
    return nullptr;
}

const Region* nearest(uintptr_t address, uintptr_t* distance) {
    const Region* best = nullptr;
    *distance = ~uintptr_t(0);
    for (unsigned i = 0; i < region_count; ++i) {
        const Region& r = regions[i];
        const uintptr_t away = address < r.begin ? r.begin - address : address - r.end;
        if (away >= *distance) continue;
        *distance = away;
        best = &r;
    }
    return best;
}

bool is_constant(uintptr_t address) {
    for (unsigned i = 0; i < constant_count; ++i)
        if (address >= constants[i].begin && address < constants[i].end) return true;
    return false;
}

bool mapped(uintptr_t address, unsigned size) {
    for (unsigned i = 0; i < mapping_count; ++i) {
        const Mapping& m = mappings[i];
        if (address >= m.begin && address + size <= m.end) return true;
    }
    return false;
}

void report_invalid(uintptr_t address, unsigned size, unsigned kind, uint32_t pc) {
    Finding* f = found("memcheck", kind & kWrite ? "invalid-write" : "invalid-read", true,
                       {pc, 0, 0, 0, nullptr});
    uintptr_t distance;
    const Region* r = nearest(address, &distance);
    if (f != nullptr && r != nullptr) {
        detail(f, ",\"size\":%u,\"object\":\"%s\",\"object_bytes\":%zu,\"distance\":%zu,"
                  "\"side\":\"%s\"",
               size, r->name, size_t(r->end - r->begin), size_t(distance),
               address < r->begin ? "before" : "behind");
    }
    if (mapped(address, size)) return;
    snprintf(launch_error, sizeof launch_error, "%s of size %u at an address that is not "
             "mapped", kind & kWrite ? "write" : "read", size);
    end_launch(Ended::kLostMemory);
}

void check_bounds(const Region& r, uintptr_t address, unsigned size, unsigned kind,
                  uint32_t pc) {
    if (address + size > r.end) {
        Finding* f = found("memcheck", kind & kWrite ? "invalid-write" : "invalid-read",
                           true, {pc, 0, 0, 0, nullptr});
        if (f != nullptr) {
            detail(f, ",\"size\":%u,\"object\":\"%s\",\"object_bytes\":%zu,\"distance\":0,"
                      "\"side\":\"behind\"",
                   size, r.name, size_t(r.end - r.begin));
        }
    }
    const bool whole = size <= 16 && (size & (size - 1)) == 0 && !(kind & kUnaligned);
    if (whole && (address & (size - 1)) != 0) {
        Finding* f = found("memcheck", "misaligned", true, {pc, 0, 0, 0, nullptr});
        if (f != nullptr) {
            detail(f, ",\"size\":%u,\"object\":\"%s\",\"offset\":%zu", size, r.name,
                   size_t(address - r.begin));
        }
    }
}

// ---- races --------------------------------------------------------------------------------

bool covers(const Release& r, const Access& earlier, uint32_t acquired_at) {
    if (r.time == 0 || r.time > acquired_at) return false;
    return (earlier.thread == r.thread && earlier.time <= r.fence) || earlier.time < r.barrier;
}

// Whether a fence and an atomic order an access behind one of another thread or block.
bool is_acquired(const Access& earlier, unsigned thread) {
    const uint32_t at = acquired[thread];
    if (at == 0) return false;
    const Release* block = releases + size_t(earlier.serial - first_serial - 1) * threads;
    if (covers(block[earlier.thread], earlier, at)) return true;
    for (unsigned t = 0; t < threads; ++t)
        if (covers(block[t], earlier, at)) return true;
    return false;
}

inline bool is_ordered(const Access& earlier, unsigned thread, Space space) {
    if (earlier.serial == serial && earlier.thread == thread) return true;
    if (earlier.serial <= first_serial) return true;  // another launch, or none
    if (earlier.serial != serial)
        return space == Space::kShared || is_acquired(earlier, thread);
    if (earlier.time < barrier_time) return true;
    if (earlier.thread / kWarp == thread / kWarp &&
        earlier.warp_clock <= warp_clocks[thread][earlier.thread % kWarp])
        return true;
    return is_acquired(earlier, thread);
}

void report_race(const Access& earlier, bool wrote, const Access& now, bool writes,
                 const Region& r, uintptr_t cell) {
    const bool marked = (earlier.is_volatile || earlier.atomic) &&
                        (now.is_volatile || now.atomic);
    const bool both_volatile = earlier.is_volatile && now.is_volatile;
    // Polling a flag is a habit that works; volatile shared memory in a warp is not.
    const bool notice = marked && !(both_volatile && r.space == Space::kShared);
    const char* hazard = !wrote ? "WAR" : writes ? "WAW" : "RAW";
    Finding* f = found("racecheck", hazard, !notice, {now.pc, earlier.pc, 0, 0, nullptr});
    if (f == nullptr) return;
    f->other_thread = thread_position(earlier.thread);
    f->other_block = block_position(earlier.serial - first_serial - 1);
    detail(f, ",\"space\":\"%s\",\"object\":\"%s\",\"offset\":%zu,\"other_atomic\":%s,"
              "\"atomic\":%s",
           r.space == Space::kShared ? "shared" : "global", r.name,
           size_t(cell > r.begin ? cell - r.begin : 0), earlier.atomic ? "true" : "false",
           now.atomic ? "true" : "false");
}

inline void check_against(const Shadow& shadow, size_t index, const Access& now,
                          bool writes, const Region& r, uintptr_t cell) {
    auto conflicts = [&](const Access& earlier) {
        return (earlier.bytes & now.bytes) && !(earlier.atomic && now.atomic) &&
               !is_ordered(earlier, now.thread, r.space);
    };
    const Access &write = shadow.writes[index], &atomic = shadow.atomics[index];
    if (conflicts(write)) report_race(write, true, now, writes, r, cell);
    if (conflicts(atomic)) report_race(atomic, true, now, writes, r, cell);
    if (!writes) return;
    const Access &read = shadow.reads[index], &more = shadow.more_reads[index];
    if (conflicts(read)) report_race(read, false, now, true, r, cell);
    if (more.serial != 0 && conflicts(more)) report_race(more, false, now, true, r, cell);
}

inline void remember(const Shadow& shadow, size_t index, const Access& now, bool writes,
                     Space space) {
    if (now.atomic) {
        shadow.atomics[index] = now;
    } else if (writes) {
        shadow.writes[index] = now;
    } else {
        Access& read = shadow.reads[index];
        const bool replaceable = is_ordered(read, now.thread, space);
        (replaceable ? read : shadow.more_reads[index]) = now;
    }
}

inline void check_race(Region& r, size_t index, uintptr_t cell, const Access& now,
                       unsigned kind) {
    const bool writes = kind & kWrite, whole = now.bytes == 15;
    check_against(r.cells, index, now, writes, r, cell);
    if (!whole) r.has_bytes = true;
    for (unsigned b = 0; r.has_bytes && b < 4; ++b) {
        if (!(now.bytes >> b & 1)) continue;
        check_against(r.bytes, 4 * index + b, now, writes, r, cell);
        if (!whole) remember(r.bytes, 4 * index + b, now, writes, r.space);
    }
    if (whole) remember(r.cells, index, now, writes, r.space);
}

// ---- initialisation -----------------------------------------------------------------------

inline void check_initialised(Region& r, size_t index, uintptr_t cell, unsigned size,
                       const Access& now, unsigned kind) {
    if (r.written == nullptr) return;
    Initialised& state = r.written[index];
    if (r.space == Space::kShared && state.serial != serial) state = {serial, 0};
    if (kind & kRead && (state.bytes & now.bytes) != now.bytes) {
        Finding* f = found("initcheck", "uninitialised-read", true,
                           {now.pc, 0, 0, 0, nullptr});
        if (f != nullptr) {
            detail(f, ",\"size\":%u,\"space\":\"%s\",\"object\":\"%s\",\"offset\":%zu", size,
                   r.space == Space::kShared ? "shared" : "global", r.name,
                   size_t(cell > r.begin ? cell - r.begin : 0));
        }
    }
    if (kind & kWrite) state.bytes |= now.bytes;
}

// ---- synchronisation through atomics ------------------------------------------------------

// Whether anybody has released to an atomic at this address; remembers that one has.
bool slot_known(uintptr_t address, bool remember) {
    if (slots_full) return true;
    unsigned i = unsigned(address * 0x9e3779b97f4a7c15u >> 52) % kMaxSlots;
    for (unsigned probe = 0; probe < kProbes; ++probe, i = (i + 1) % kMaxSlots) {
        if (slots[i] == address) return true;
        if (slots[i] != 0) continue;
        if (remember) slots[i] = address;
        return false;
    }
    slots_full = remember;
    return slots_full;
}

}  // namespace

// ---- what the arm does --------------------------------------------------------------------

// Accesses of one thread to whatever its block may see.
void access(uintptr_t address, unsigned size, unsigned kind, const void* pc) {
    if (!checking || !inside_kernel()) return;
    const uintptr_t index = reinterpret_cast<uintptr_t>(fivegates_index);
    if (address - index < sizeof fivegates_index) return;
    Region* r = region_at(address);
    if (r == nullptr) {
        if (on_own_stack(address) || is_constant(address)) return;
        report_invalid(address, size, kind, offset_of(pc));
        return;
    }
    const uint32_t place = offset_of(pc);
    check_bounds(*r, address, size, kind, place);
    const unsigned thread = active_thread;
    if (counting && !(kind & kAtomic))
        count_access(address, size, kind & kWrite, r->space, place, thread);
    const uintptr_t end = address + size < r->end ? address + size : r->end;
    Access now;
    now.serial = serial;
    now.pc = place;
    now.time = now_time;
    const uint32_t clock = warp_clocks[thread][thread % kWarp];
    now.warp_clock = uint16_t(clock < 0xffff ? clock : 0xffff);
    now.thread = uint16_t(thread) & 1023;
    now.atomic = (kind & kAtomic) != 0;
    now.is_volatile = (kind & kVolatile) != 0;
    for (uintptr_t cell = address & ~uintptr_t(3); cell < end; cell += 4) {
        unsigned bytes = 15;
        if (cell < address) bytes &= 15u << (address - cell);
        if (cell + 4 > end) bytes &= 15u >> (cell + 4 - end);
        now.bytes = bytes & 15;
        const size_t index = (cell - r->base()) / 4;
        check_initialised(*r, index, cell, size, now, kind);
        check_race(*r, index, cell, now, kind);
    }
}

void fence() {
    fences[active_thread] = {now_time, barrier_time};
    ++now_time;
}

void meet_at_atomic(uintptr_t address) {
    if (!checking) return;
    const unsigned thread = active_thread;
    const uint32_t time = ++now_time;
    if (slot_known(address, false)) acquired[thread] = time;
    const Fence& fence = fences[thread];
    if (fence.time == 0) return;
    slot_known(address, true);
    releases[size_t(serial - first_serial - 1) * threads + thread] = {
        time, fence.time, fence.barrier, thread};
}

// ---- what scheduler and runner tell -------------------------------------------------------

void map_checker(size_t all_threads) {
    releases = static_cast<Release*>(reserve(all_threads * sizeof(Release), false));
}

static Shadow new_shadow(size_t cells) {
    Access* all = static_cast<Access*>(reserve(4 * cells * sizeof(Access), false));
    return {all, all + cells, all + 2 * cells, all + 3 * cells};
}

void add_constant(uintptr_t begin, uintptr_t end) {
    if (constant_count == kMaxMappings) refuse("more than %u constants", kMaxMappings);
    constants[constant_count++] = {begin, end};
}

void add_region(const char* name, void* begin, size_t size, Space space,
                bool initialised) {
    if (region_count == kMaxRegions) refuse("more than %u objects", kMaxRegions);
    const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
    const size_t cells = size / 4 + 2;
    Region& r = regions[region_count++];
    r.begin = address;
    r.end = address + size;
    r.name = name;
    r.space = space;
    r.cells = new_shadow(cells);
    r.bytes = new_shadow(4 * cells);
    if (!initialised)
        r.written = static_cast<Initialised*>(reserve(cells * sizeof(Initialised), false));
}

void add_mapping(uintptr_t begin, uintptr_t end) {
    if (mapping_count == kMaxMappings) refuse("more than %u mappings", kMaxMappings);
    mappings[mapping_count++] = {begin, end};
}

void set_image(uintptr_t begin, uintptr_t end) {
    image_begin = begin;
    image_end = end;
}

// What a block finds in shared memory is what another left there. A launch each in turn, as
// SHARED_FILLS in job.py says: never the same value to use.
static const unsigned char kSharedFills[] = {0xff, 0x7b, 0xfb, 0x00};
static unsigned char shared_fill;

static void begin_launch(unsigned threads_of_block, unsigned blocks) {
    threads = threads_of_block;
    static unsigned launches;
    shared_fill = kSharedFills[launches++ % sizeof kSharedFills];
    static uint32_t next_serial;
    first_serial = next_serial;
    next_serial += blocks;
    if (!checking) return;
    memset(slots, 0, sizeof slots);
    slots_full = false;
    clocks_moved = true;
}

static void fill_shared() {
    for (unsigned i = 0; i < region_count; ++i) {
        const Region& r = regions[i];
        if (r.space == Space::kShared)
            memset(reinterpret_cast<void*>(r.begin), shared_fill, r.end - r.begin);
    }
}

static void begin_block(unsigned linear) {
    fill_shared();
    if (!checking) return;
    if (counting) close_census_block();
    serial = first_serial + linear + 1;
    barrier_time = ++now_time;
    memset(fences, 0, sizeof fences);
    memset(acquired, 0, sizeof acquired);
    if (!clocks_moved) return;
    memset(warp_clocks, 0, sizeof warp_clocks);
    for (unsigned t = 0; t < kMaxThreads; ++t) warp_clocks[t][t % kWarp] = 1;
    clocks_moved = false;
}

// What one thread has acquired before a barrier, all have behind it.
static void passed_barrier() {
    barrier_time = ++now_time;
    uint32_t latest = 0;
    for (uint32_t at : acquired)
        if (at > latest) latest = at;
    if (latest == 0) return;
    for (uint32_t& at : acquired) at = latest;
}

static void met_in_warp(unsigned first_thread, unsigned lanes) {
    if (!checking) return;
    uint32_t latest = 0;
    for (unsigned l = 0; l < kWarp; ++l)
        if (lanes >> l & 1 && acquired[first_thread + l] > latest)
            latest = acquired[first_thread + l];
    for (unsigned l = 0; l < kWarp && latest != 0; ++l)
        if (lanes >> l & 1) acquired[first_thread + l] = latest;
}

static void synced_warp(unsigned first_thread, unsigned lanes) {
    if (!checking) return;
    clocks_moved = true;
    uint32_t joined[kWarp] = {};
    for (unsigned l = 0; l < kWarp; ++l) {
        if (!(lanes >> l & 1)) continue;
        for (unsigned k = 0; k < kWarp; ++k) {
            const uint32_t clock = warp_clocks[first_thread + l][k];
            if (clock > joined[k]) joined[k] = clock;
        }
    }
    for (unsigned l = 0; l < kWarp; ++l) {
        if (!(lanes >> l & 1)) continue;
        memcpy(warp_clocks[first_thread + l], joined, sizeof joined);
        ++warp_clocks[first_thread + l][l];
    }
}

Observer checker_observer() {
    return {begin_launch, begin_block, passed_barrier, met_in_warp, synced_warp, report_sync};
}
