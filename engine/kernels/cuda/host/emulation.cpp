// The scheduler of `emulation.h`, and the door through which the tests launch kernels.
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include "../kernels.cu"

namespace emulation {

thread_local Index thread_index, block_index, block_size, grid_size;

namespace {

constexpr int MOST_THREADS = 256;
constexpr int MOST_COPIES = 256;
constexpr size_t STACK = 64 << 10;
constexpr size_t CANARY = 4096;

struct Copy {
    void* to;
    const void* from;
    bool valid;
    int group;
};

struct Fiber {
    ucontext_t start;
    jmp_buf here;
    bool started, done, waited;
    Index index;
    int generation;  // of the warp, as it last arrived
    Copy copies[MOST_COPIES];
    int first_copy, copy_count, group;
};

struct Warp {
    int arrived, generation;
    unsigned in[32][6];
    float* c[32];
    const void* row[32];
    unsigned out[32][4];
};

struct Machine {
    Fiber fibers[MOST_THREADS];
    Warp warps[MOST_THREADS / 32];
    char* stacks;
    jmp_buf scheduler;
    Fiber* current;
    int alive, arrived, generation;
    bool eager, falling;
    unsigned char* shared;
    size_t shared_size;
    void (*body)(const void*);
    const void* argument;
    Machine* next;  // when it rests
};

// What this thread runs a launch on.
thread_local Machine* machine;

// Machines that rest: threads come and go, and a machine is large.
Machine* resting;
pthread_mutex_t resting_lock = PTHREAD_MUTEX_INITIALIZER;

Machine* take_machine() {
    pthread_mutex_lock(&resting_lock);
    Machine* m = resting;
    if (m != nullptr) resting = m->next;
    pthread_mutex_unlock(&resting_lock);
    if (m != nullptr) return m;
    m = static_cast<Machine*>(calloc(1, sizeof(Machine)));
    if (m == nullptr) return nullptr;
    m->stacks = static_cast<char*>(malloc(STACK * MOST_THREADS));
    if (m->stacks != nullptr) return m;
    free(m);
    return nullptr;
}

void rest(Machine* m) {
    pthread_mutex_lock(&resting_lock);
    m->next = resting;
    resting = m;
    pthread_mutex_unlock(&resting_lock);
}

void yield() {
    Fiber* fiber = machine->current;
    if (_setjmp(fiber->here) == 0) _longjmp(machine->scheduler, 1);
}

void entry() {
    machine->body(machine->argument);
    machine->current->done = true;
    machine->alive--;
    _longjmp(machine->scheduler, 1);
}

void resume(Fiber* fiber) {
    machine->current = fiber;
    thread_index = fiber->index;
    if (_setjmp(machine->scheduler) != 0) return;
    if (fiber->started) _longjmp(fiber->here, 1);
    fiber->started = true;
    setcontext(&fiber->start);
}

void perform(const Copy& copy) {
    if (copy.valid) memcpy(copy.to, copy.from, 16);
    else memset(copy.to, 0, 16);
}

int place() { return static_cast<int>(machine->current - machine->fibers); }

// Arrives at a point that the whole warp passes together; the last lane does the work.
template <typename Work>
void together(Work work) {
    Warp& warp = machine->warps[place() / 32];
    int generation = warp.generation;
    if (++warp.arrived == 32) {
        work(warp);
        warp.arrived = 0;
        warp.generation++;
        return;
    }
    do yield();
    while (warp.generation == generation);
}

// 0 or the fault, as `emulate_blocks` gives it.
int run_block(int threads) {
    Machine& m = *machine;
    memset(m.shared, 0xff, m.shared_size + CANARY);
    m.alive = threads;
    m.arrived = 0;
    for (Warp& warp : m.warps) warp.arrived = 0;
    for (int i = 0; i < threads; i++) {
        Fiber& fiber = m.fibers[i];
        fiber.started = fiber.done = fiber.waited = false;
        fiber.index = {static_cast<unsigned>(i), 0, 0};
        fiber.first_copy = fiber.copy_count = fiber.group = 0;
        getcontext(&fiber.start);
        fiber.start.uc_stack.ss_sp = m.stacks + STACK * static_cast<size_t>(i);
        fiber.start.uc_stack.ss_size = STACK;
        fiber.start.uc_link = nullptr;
        makecontext(&fiber.start, entry, 0);
    }
    while (m.alive > 0) {
        for (int i = 0; i < threads; i++) {
            Fiber* fiber = &m.fibers[m.falling ? threads - 1 - i : i];
            if (!fiber->done) resume(fiber);
        }
    }
    for (size_t i = 0; i < CANARY; i++) {
        if (m.shared[m.shared_size + i] != 0xff) return 4;
    }
    for (int i = 0; i < threads; i++) {
        if (!m.fibers[i].waited) return 5;
    }
    return 0;
}

}  // namespace

unsigned char* shared() { return machine->shared; }

void barrier() {
    Machine& m = *machine;
    int generation = m.generation;
    if (++m.arrived == m.alive) {
        m.arrived = 0;
        m.generation++;
        return;
    }
    do {
        yield();
        if (m.arrived == m.alive && m.generation == generation) {  // the threads still missing have ended
            m.arrived = 0;
            m.generation++;
        }
    } while (m.generation == generation);
}

unsigned exchange(unsigned v, int lanes) {
    int lane = place() % 32;
    Warp& warp = machine->warps[place() / 32];
    warp.in[lane][0] = v;
    together([lanes](Warp& w) {
        for (int i = 0; i < 32; i++) w.out[i][0] = w.in[i ^ lanes][0];
    });
    return warp.out[lane][0];
}

void copy(void* to, const void* from, bool valid) {
    Fiber& fiber = *machine->current;
    Copy it{to, from, valid, fiber.group};
    if (machine->eager) return perform(it);
    if (fiber.copy_count == MOST_COPIES) abort();
    fiber.copies[(fiber.first_copy + fiber.copy_count++) % MOST_COPIES] = it;
}

void commit() { machine->current->group++; }

void wait(int pending) {
    Fiber& fiber = *machine->current;
    while (fiber.copy_count > 0) {
        const Copy& it = fiber.copies[fiber.first_copy];
        if (it.group >= fiber.group - pending) break;
        perform(it);
        fiber.first_copy = (fiber.first_copy + 1) % MOST_COPIES;
        fiber.copy_count--;
    }
}

void wait_previous() { machine->current->waited = true; }

void multiply(float* c, const unsigned* a, const unsigned* b) {
    int lane = place() % 32;
    Warp& warp = machine->warps[place() / 32];
    for (int i = 0; i < 4; i++) warp.in[lane][i] = a[i];
    for (int i = 0; i < 2; i++) warp.in[lane][4 + i] = b[i];
    warp.c[lane] = c;
    together([](Warp& w) {
        float left[16][16], right[16][8], sum[16][8];
        for (int l = 0; l < 32; l++) {
            int g = l / 4, t = l % 4 * 2;
            for (int i = 0; i < 2; i++) {
                auto element = [&](unsigned pair) { return i == 0 ? as_float(pair << 16) : as_float(pair & 0xffff0000u); };
                left[g][t + i] = element(w.in[l][0]);
                left[g + 8][t + i] = element(w.in[l][1]);
                left[g][t + 8 + i] = element(w.in[l][2]);
                left[g + 8][t + 8 + i] = element(w.in[l][3]);
                right[t + i][g] = element(w.in[l][4]);
                right[t + 8 + i][g] = element(w.in[l][5]);
                sum[g][t + i] = w.c[l][i];
                sum[g + 8][t + i] = w.c[l][2 + i];
            }
        }
        for (int m = 0; m < 16; m++)
            for (int k = 0; k < 16; k++)
                for (int n = 0; n < 8; n++) sum[m][n] += left[m][k] * right[k][n];
        for (int l = 0; l < 32; l++) {
            int g = l / 4, t = l % 4 * 2;
            for (int i = 0; i < 2; i++) {
                w.c[l][i] = sum[g][t + i];
                w.c[l][2 + i] = sum[g + 8][t + i];
            }
        }
    });
}

void transposed(unsigned* r, const void* row) {
    int lane = place() % 32;
    Warp& warp = machine->warps[place() / 32];
    warp.row[lane] = row;
    together([](Warp& w) {
        for (int l = 0; l < 32; l++) {
            for (int i = 0; i < 4; i++) {
                auto element = [&](int at) {
                    return static_cast<unsigned>(static_cast<const bf16*>(w.row[8 * i + l % 4 * 2 + at])[l / 4].bits);
                };
                w.out[l][i] = element(1) << 16 | element(0);
            }
        }
    });
    for (int i = 0; i < 4; i++) r[i] = warp.out[lane][i];
}

}  // namespace emulation

namespace {

struct Entry {
    const char* name;
    size_t size;
    unsigned threads;
    void (*body)(const void*);
};

#define ENTRY(name, Arguments) \
    {#name, sizeof(Arguments), name##_threads, [](const void* p) { name(*static_cast<const Arguments*>(p)); }},
const Entry ENTRIES[] = {EACH_KERNEL(ENTRY)};

}  // namespace

// Runs the blocks from `first` to before `end` of a launch on host addresses; launches of different `salt` take place in
// different order. 0; or 1: no such kernel, 2: an argument of the wrong size, 3: a block of the wrong size or no memory, 4: a
// write beyond the shared memory, 5: a thread that did not wait for the launch before.
extern "C" int emulate_blocks(const char* name, const unsigned* grid, unsigned threads, unsigned shared, const void* argument,
                              size_t size, unsigned first, unsigned end, unsigned salt) {
    using namespace emulation;
    const Entry* entry = nullptr;
    for (const Entry& e : ENTRIES)
        if (strcmp(e.name, name) == 0) entry = &e;
    if (entry == nullptr) return 1;
    alignas(16) unsigned char copy[512];
    if (entry->size != size || size > sizeof(copy)) return 2;
    // Blocks of attention have four or five warps.
    if (threads != entry->threads && !(threads == 128 && entry->threads == 160)) return 3;
    unsigned char* memory = static_cast<unsigned char*>(aligned_alloc(128, (shared + CANARY + 127) / 128 * 128));
    machine = memory != nullptr ? take_machine() : nullptr;
    if (machine == nullptr) {
        free(memory);
        return 3;
    }
    Machine& m = *machine;
    m.shared_size = shared;
    m.shared = memory;
    memcpy(copy, argument, size);
    m.body = entry->body;
    m.argument = copy;
    block_size = {threads, 1, 1};
    grid_size = {grid[0], grid[1], grid[2]};
    int result = 0;
    for (unsigned block = first; block < end; block++) {
        block_index = {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
        m.eager = (block + salt) % 2 == 0;
        m.falling = (block / 2 + salt) % 2 == 0;
        int fault = run_block(static_cast<int>(threads));
        if (fault > result) result = fault;
    }
    rest(machine);
    free(memory);
    return result;
}

// Size of a kernel's argument, 0 if there is no such kernel.
extern "C" size_t emulate_argument_size(const char* name) {
    for (const Entry& e : ENTRIES)
        if (strcmp(e.name, name) == 0) return e.size;
    return 0;
}
