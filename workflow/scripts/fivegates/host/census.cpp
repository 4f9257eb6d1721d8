// Counts requests as a memory system would see them: lanes of a warp that execute the same
// instruction for the same time are one request. By the meaning of the source, not by the
// instructions that a device runs.

#include <stdio.h>
#include <string.h>

#include "runtime.hpp"

bool counting = false;

namespace {

constexpr unsigned kMaxPlaces = 512, kMaxRequests = 1 << 15, kMaxUnits = 128;
constexpr unsigned kSectorBytes = 32, kBankBytes = 4, kBanks = 32;

struct Place {  // one instruction
    uint32_t pc;
    bool store;
    Space space;
    unsigned size;
    uint64_t requests, lanes, bytes, units, ideal_units;
    uint32_t executions[kMaxThreads];  // of each thread in this block
};

struct Request {
    unsigned place, execution, warp, lanes, unit_count;
    int next;  // in its bucket, or in the list of free ones
    bool open;
    uint32_t unit[kMaxUnits];  // sectors of global memory, words of shared memory
};

Place* places;
Request* requests;
unsigned place_count, used;
int buckets[kMaxRequests], free_list;
bool overflown;
uintptr_t origin;

unsigned place_of(uint32_t pc, bool store, Space space, unsigned size) {
    static unsigned last;
    for (unsigned i = 0; i <= place_count; ++i) {
        const unsigned k = i == 0 ? last : i - 1;
        if (k >= place_count) continue;
        if (places[k].pc == pc && places[k].store == store) return last = k;
    }
    if (place_count == kMaxPlaces) {
        overflown = true;
        return 0;
    }
    Place& p = places[place_count];
    p.pc = pc;
    p.store = store;
    p.space = space;
    p.size = size;
    return last = place_count++;
}

unsigned bucket_of(unsigned place, unsigned execution, unsigned warp) {
    const uint64_t key = (uint64_t(execution) << 20 | place << 5 | warp) + 1;
    return unsigned(key * 0x9e3779b97f4a7c15u >> 40) % kMaxRequests;
}

Request* request_of(unsigned place, unsigned execution, unsigned warp) {
    int& head = buckets[bucket_of(place, execution, warp)];
    for (int i = head; i >= 0; i = requests[i].next) {
        Request& r = requests[i];
        if (r.place == place && r.execution == execution && r.warp == warp) return &r;
    }
    int taken = free_list;
    if (taken >= 0) {
        free_list = requests[taken].next;
    } else if (used < kMaxRequests) {
        taken = int(used++);
    } else {
        overflown = true;
        return nullptr;
    }
    Request& r = requests[taken];
    r.place = place;
    r.execution = execution;
    r.warp = warp;
    r.lanes = r.unit_count = 0;
    r.open = true;
    r.next = head;
    head = taken;
    return &r;
}

// Passes of shared memory: the most words that one bank must deliver. Wide accesses are
// served 128 bytes at a time, so half or quarter warps do not disturb each other.
unsigned bank_passes(const Request& r, unsigned size) {
    const unsigned per_pass = size <= kBankBytes ? kMaxUnits : kBanks;
    unsigned passes = 0;
    for (unsigned begin = 0; begin < r.unit_count; begin += per_pass) {
        uint8_t load[kBanks] = {};
        unsigned most = 0;
        for (unsigned i = begin; i < r.unit_count && i < begin + per_pass; ++i) {
            const unsigned now = ++load[r.unit[i] % kBanks];
            if (now > most) most = now;
        }
        passes += most;
    }
    return passes;
}

void close_request(const Request& r) {
    Place& p = places[r.place];
    const uint64_t bytes = uint64_t(r.lanes) * p.size;
    const unsigned unit = p.space == Space::kShared ? kBankBytes * kBanks : kSectorBytes;
    ++p.requests;
    p.lanes += r.lanes;
    p.bytes += bytes;
    p.units += p.space == Space::kShared ? bank_passes(r, p.size) : r.unit_count;
    p.ideal_units += (bytes + unit - 1) / unit;
}

void retire(Request* r) {
    close_request(*r);
    const int index = int(r - requests);
    int* link = &buckets[bucket_of(r->place, r->execution, r->warp)];
    while (*link != index) link = &requests[*link].next;
    *link = r->next;
    r->open = false;
    r->next = free_list;
    free_list = index;
}

}  // namespace

void map_census() {
    places = static_cast<Place*>(reserve(kMaxPlaces * sizeof(Place), false));
    requests = static_cast<Request*>(reserve(kMaxRequests * sizeof(Request), false));
    memset(buckets, 0xff, sizeof buckets);
    free_list = -1;
}

void count_access(uintptr_t address, unsigned size, bool store, Space space, uint32_t pc,
                  unsigned thread) {
    if (overflown) return;
    const unsigned place = place_of(pc, store, space, size);
    const unsigned execution = places[place].executions[thread]++;
    Request* r = request_of(place, execution, thread / kWarp);
    if (r == nullptr) return;
    const unsigned unit = space == Space::kShared ? kBankBytes : kSectorBytes;
    if (origin == 0) origin = address - (uintptr_t(1) << 36);
    const uintptr_t base = origin & ~uintptr_t(255);
    for (uintptr_t u = (address - base) / unit; u <= (address + size - 1 - base) / unit;
         ++u) {
        unsigned i = r->unit_count;
        while (i > 0 && r->unit[i - 1] != uint32_t(u)) --i;
        if (i == 0 && r->unit_count < kMaxUnits) r->unit[r->unit_count++] = uint32_t(u);
    }
    if (++r->lanes == kWarp) retire(r);
}

void close_census_block() {
    for (unsigned i = 0; i < used; ++i)
        if (requests[i].open) retire(&requests[i]);
    for (unsigned i = 0; i < place_count; ++i)
        memset(places[i].executions, 0, sizeof places[i].executions);
}

size_t write_census(char* text, size_t capacity) {
    close_census_block();
    size_t length = 0;
    if (overflown) return size_t(snprintf(text, capacity, "{\"census\":null}\n"));
    for (unsigned i = 0; i < place_count; ++i) {
        const Place& p = places[i];
        const bool shared = p.space == Space::kShared;
        const int size = snprintf(
            text + length, capacity - length,
            "{\"census\":\"%s %s\",\"pc\":%u,\"requests\":%llu,\"lanes\":%llu,"
            "\"bytes\":%llu,\"%s\":%llu,\"ideal\":%llu}\n",
            shared ? "shared" : "global", p.store ? "store" : "load", p.pc,
            (unsigned long long)p.requests, (unsigned long long)p.lanes,
            (unsigned long long)p.bytes, shared ? "bank_passes" : "sectors",
            (unsigned long long)p.units, (unsigned long long)p.ideal_units);
        if (size < 0 || size_t(size) >= capacity - length) break;
        length += size_t(size);
    }
    return length;
}
