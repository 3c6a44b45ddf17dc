// The kernels on a card: each against a plain reference, rows bit by bit whatever the window, a whole decoder forward with
// and without programmatic launches, and times at the published size. Needs nothing but nvcc:
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o check check.cu && ./check        (everything)
//   compute-sanitizer ./check small                                      (small cases only)
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../kernels.cu"

#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t e_ = (call);                                                                \
        if (e_ != cudaSuccess) {                                                                \
            printf("%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));        \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

static cudaStream_t stream;
static bool programmatic = true;
static int faults = 0;

template <typename Arguments>
static void launch(void (*kernel)(Arguments), dim3 grid, int block, int shared, Arguments arguments) {
    if (shared > 48 << 10) CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 << 10));
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = programmatic ? 1 : 0;
    CHECK(cudaLaunchKernelEx(&config, kernel, arguments));
}

static int splits(int n, int k) {
    int tiles = (n + 63) / 64, s = (132 + tiles / 2) / tiles, steps = (k + 63) / 64;
    int most = steps < 8 ? steps : 8;
    return s < 1 ? 1 : s > most ? most : s;
}

static void window(ProductArguments p) {
    int outer = p.epilogue == SWIGLU ? 2 * p.n : p.n, tiles = (outer + 63) / 64;
    auto go = [&](void (*kernel)(ProductArguments), int rows, int stages) {
        launch(kernel, dim3((p.rows + rows - 1) / rows, tiles, p.splits), 256, stages * (64 + rows) * 128, p);
    };
    if (p.rows <= 8) go(product_8, 8, 7);
    else if (p.rows <= 16) go(product_16, 16, 7);
    else if (p.rows <= 40) go(product_40, 40, 7);
    else go(product_64, 64, 6);
}

static void large(ProductArguments p) {
    int outer = p.epilogue == SWIGLU ? 2 * p.n : p.n;
    launch(product_bulk, dim3((p.rows + 127) / 128, (outer + 127) / 128), 128, 98304, p);
}

static void bulk(ProductArguments p) {
    int outer = p.epilogue == SWIGLU ? 2 * p.n : p.n;
    if (((p.rows + 127) / 128) * ((outer + 127) / 128) >= 132) large(p);
    else window(p);
}

static void attention(AttentionArguments p) {
    int pairs = p.window * (p.heads / p.kv_heads), warps = pairs > 64 && pairs <= 80 ? 5 : 4;
    int width = p.head_dim <= 32 ? 32 : p.head_dim <= 64 ? 64 : 128;
    dim3 grid(p.chunks, p.kv_heads, p.rows / p.window * ((pairs + 16 * warps - 1) / (16 * warps)));
    launch(width == 32 ? attention_32 : width == 64 ? attention_64 : attention_128, grid, 32 * warps, 4 * 64 * width * 2, p);
    if (p.chunks > 1) launch(combine, dim3((p.rows * p.heads + 3) / 4), 128, 0, p);
}

// Random numbers, on the host and on the card.
static unsigned long long seed = 88172645463325252ull;
static float number() {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return static_cast<float>(seed >> 40) / (1 << 23) - 1.0f;
}
static unsigned short round_half(float v) {
    unsigned bits;
    memcpy(&bits, &v, 4);
    return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static float widen(unsigned short h) {
    unsigned bits = static_cast<unsigned>(h) << 16;
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

template <typename T>
struct Buffer {
    T* at = nullptr;
    size_t count;
    explicit Buffer(size_t n) : count(n) {
        CHECK(cudaMalloc(&at, n * sizeof(T) + 256));
        CHECK(cudaMemset(at, 0xff, n * sizeof(T) + 256));
    }
    explicit Buffer(const std::vector<T>& v) : Buffer(v.size()) { put(v); }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(at); }
    void put(const std::vector<T>& v) { CHECK(cudaMemcpy(at, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> get() {
        CHECK(cudaStreamSynchronize(stream));
        std::vector<T> v(count);
        CHECK(cudaMemcpy(v.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
};

static std::vector<bf16> halves(size_t n, float size = 1.0f) {
    std::vector<bf16> v(n);
    for (auto& h : v) h.bits = round_half(number() * size);
    return v;
}
static std::vector<float> floats(size_t n) {
    std::vector<float> v(n);
    for (auto& f : v) f = number();
    return v;
}

__global__ void fill(bf16* at, size_t n, unsigned salt, float size) {
    for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) {
        unsigned h = static_cast<unsigned>(i) * 2654435761u + salt;
        h ^= h >> 15;
        h *= 2246822519u;
        h ^= h >> 13;
        at[i] = to_bf16((static_cast<float>(h >> 8) / (1 << 23) - 1.0f) * size);
    }
}
static void random_halves(Buffer<bf16>& b, unsigned salt, float size) {
    fill<<<1024, 256, 0, stream>>>(b.at, b.count, salt, size);
    CHECK(cudaGetLastError());
}

static void report(const char* what, double worst, double limit) {
    bool bad = !(worst <= limit);
    faults += bad;
    if (bad) printf("WRONG %-60s %g, limit %g\n", what, worst, limit);
    else printf("ok    %-60s %g\n", what, worst);
}

static double off(float got, double expected, double relative) {
    double d = fabs(got - expected) - relative * fabs(expected);
    return d == d ? d : 1e30;
}

static void check_product(int rows, int n, int k, Epilogue epilogue, bool tiled) {
    const int outer = epilogue == SWIGLU ? 2 * n : n;
    auto x = halves(static_cast<size_t>(rows) * k), w = halves(static_cast<size_t>(outer) * k);
    auto bias = floats(outer), before = floats(static_cast<size_t>(rows) * n);
    Buffer<bf16> dx(x), dw(w), dh(static_cast<size_t>(rows) * n);
    Buffer<float> db(bias);
    const int s = epilogue == FLOAT && !tiled ? splits(n, k) : 1;
    Buffer<float> df(static_cast<size_t>(s) * rows * n);
    if (epilogue == ADD) df.put(before);
    ProductArguments p{dx.at, dw.at, db.at, epilogue == FLOAT || epilogue == ADD ? static_cast<void*>(df.at) : dh.at,
                       rows,  n,     k,     k,
                       n,     s,     epilogue, 0};
    tiled ? large(p) : window(p);
    std::vector<float> got(static_cast<size_t>(rows) * n, 0.0f);
    if (epilogue == FLOAT || epilogue == ADD) {
        auto planes = df.get();
        for (size_t i = 0; i < planes.size(); i++) got[i % got.size()] += planes[i];
    } else {
        auto out = dh.get();
        for (size_t i = 0; i < out.size(); i++) got[i] = widen(out[i].bits);
    }
    double worst = -1e30;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < n; c++) {
            auto dot = [&](int row) {
                double sum = bias[row];
                for (int i = 0; i < k; i++)
                    sum += static_cast<double>(widen(x[static_cast<size_t>(r) * k + i].bits)) *
                           widen(w[static_cast<size_t>(row) * k + i].bits);
                return sum;
            };
            double e = dot(c);
            if (epilogue == SWIGLU) e = e / (1 + exp(-e)) * dot(n + c);
            if (epilogue == ADD) e += before[static_cast<size_t>(r) * n + c];
            bool half = epilogue == HALF || epilogue == SWIGLU;
            double d = off(got[static_cast<size_t>(r) * n + c], e, half ? 1.0 / 256 : 1e-6);
            worst = d > worst ? d : worst;
        }
    char what[99];
    snprintf(what, sizeof what, "product %s %d x %d x %d epilogue %d", tiled ? "bulk" : "window", rows, n, k, epilogue);
    report(what, worst, 2e-6 * k);
}

// One decoder layer's worth of the published size, `layers` times, and a head.
struct Model {
    int hidden = 1536, heads = 16, kv_heads = 8, dim = 128, inner = 4608, vocabulary = 59392, layers;
    int capacity;
    Buffer<bf16> qkv, o, gate_up, down, head, table, keys, values;
    Buffer<float> norm;
    Buffer<float2> turns;
    Buffer<Slot> slots;
    Buffer<int> sequence_slots, ids;
    // activations for `most` rows
    Buffer<float> stream_rows, parts, attention_parts;
    Buffer<float2> weights;
    Buffer<bf16> x, q, att, act;
    Buffer<PeakPart> peak_parts;
    Buffer<Peak> peaks, draft;
    Buffer<Record> records;
    int chunks;

    Model(int layers_, int capacity_, int sequences, int most)
        : layers(layers_),
          capacity(capacity_),
          qkv(static_cast<size_t>(layers_) * 4096 * 1536),
          o(static_cast<size_t>(layers_) * 1536 * 2048),
          gate_up(static_cast<size_t>(layers_) * 9216 * 1536),
          down(static_cast<size_t>(layers_) * 1536 * 4608),
          head(static_cast<size_t>(59392) * 1536),
          table(static_cast<size_t>(59392) * 1536),
          keys(static_cast<size_t>(layers_) * sequences * capacity_ * 1024),
          values(static_cast<size_t>(layers_) * sequences * capacity_ * 1024),
          norm(std::vector<float>(1536, 1.0f)),
          turns(static_cast<size_t>(capacity_) * 64),
          slots(sequences),
          sequence_slots(sequences),
          ids(most),
          stream_rows(static_cast<size_t>(most) * 1536),
          parts(static_cast<size_t>(8) * most * 4096),
          attention_parts(static_cast<size_t>(most) * 16 * ((capacity_ + 63) / 64) * 128),
          weights(static_cast<size_t>(most) * 16 * ((capacity_ + 63) / 64)),
          x(static_cast<size_t>(most) * 1536),
          q(static_cast<size_t>(most) * 2048),
          att(static_cast<size_t>(most) * 2048),
          act(static_cast<size_t>(most) * 4608),
          peak_parts(static_cast<size_t>(most) * 928),
          peaks(most),
          draft(most),
          records(sequences),
          chunks((capacity_ + 63) / 64) {
        random_halves(qkv, 1, 0.05f);
        random_halves(o, 2, 0.05f);
        random_halves(gate_up, 3, 0.05f);
        random_halves(down, 4, 0.05f);
        random_halves(head, 5, 0.1f);
        random_halves(table, 6, 1.0f);
        random_halves(keys, 7, 1.0f);
        random_halves(values, 8, 1.0f);
        std::vector<float2> t(static_cast<size_t>(capacity) * 64);
        for (int p = 0; p < capacity; p++)
            for (int i = 0; i < 64; i++) {
                double a = p * pow(10000.0, -2.0 * i / 128);
                t[static_cast<size_t>(p) * 64 + i] = make_float2(static_cast<float>(cos(a)), static_cast<float>(sin(a)));
            }
        turns.put(t);
        std::vector<int> order(sequences);
        for (int i = 0; i < sequences; i++) order[i] = i;
        sequence_slots.put(order);
    }

    void cached(int tokens, int step = 0) {
        std::vector<Slot> all(slots.count);
        for (size_t i = 0; i < all.size(); i++)
            all[i] = Slot{static_cast<long long>(i) * capacity * 1024, capacity, tokens + static_cast<int>(i) * step, 0, 7, RUNNING, 0};
        slots.put(all);
    }

    void forward(int sequences, int rows_each, Mask mask, bool prefill = false) {
        const int rows = sequences * rows_each;
        auto product = [&](ProductArguments p) { prefill ? bulk(p) : window(p); };
        auto cut = [&](int n, int k) { return prefill ? 1 : splits(n, k); };
        launch(embed, dim3(rows), 256, 0,
               EmbedArguments{ids.at, table.at, nullptr, norm.at, stream_rows.at, x.at, rows, hidden, vocabulary, 0, 1e-5f, 0});
        for (int l = 0; l < layers; l++) {
            const size_t pool = static_cast<size_t>(l) * slots.count * capacity * 1024;
            int s = cut(4096, 1536);
            product({x.at, qkv.at + static_cast<size_t>(l) * 4096 * 1536, nullptr, parts.at, rows, 4096, 1536, 1536, 4096, s, FLOAT, 0});
            launch(rotate_store, dim3(rows, 8), 256, 0,
                   RotateStoreArguments{parts.at, turns.at, nullptr, slots.at, sequence_slots.at, q.at, keys.at + pool,
                                        values.at + pool, rows, rows_each, heads, kv_heads, dim, s, 16, 24, capacity, 0});
            attention({q.at, keys.at + pool, values.at + pool, slots.at, sequence_slots.at, att.at, attention_parts.at,
                       weights.at, rows, rows_each, heads, kv_heads, dim, 2048, 0, mask, prefill ? 1 : chunks, 64,
                       0.08838835f, 0});
            s = cut(1536, 2048);
            product({att.at, o.at + static_cast<size_t>(l) * 1536 * 2048, nullptr, parts.at, rows, 1536, 2048, 2048, 1536, s, FLOAT, 0});
            launch(add_norm, dim3(rows), 256, 6144,
                   AddNormArguments{parts.at, norm.at, norm.at, stream_rows.at, x.at, rows, hidden, s, 1e-5f});
            product({x.at, gate_up.at + static_cast<size_t>(l) * 9216 * 1536, nullptr, act.at, rows, inner, 1536, 1536, inner, 1, SWIGLU, 0});
            s = cut(1536, 4608);
            product({act.at, down.at + static_cast<size_t>(l) * 1536 * 4608, nullptr, parts.at, rows, 1536, 4608, 4608, 1536, s, FLOAT, 0});
            launch(add_norm, dim3(rows), 256, 6144,
                   AddNormArguments{parts.at, norm.at, norm.at, stream_rows.at, x.at, rows, hidden, s, 1e-5f});
        }
        const int last = prefill ? 1 : rows;
        window({x.at + static_cast<size_t>(rows - last) * 1536, head.at, nullptr, peak_parts.at, last, vocabulary, 1536, 1536, 0, 1, PEAKS, 0});
    }
    void finish(int rows, Buffer<Peak>& out) {
        launch(peak, dim3(rows), 256, 0, PeakArguments{peak_parts.at, out.at, rows, 928});
    }
    RoundArguments round(int sequences, int rows_each) {
        return {slots.at, sequence_slots.at, ids.at, draft.at, peaks.at, records.at, nullptr, sequences, rows_each, 3, 0};
    }
};

static float time_graph(const char* what, int repeats, const std::function<void()>& body, double bytes) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(from, stream));
    for (int i = 0; i < repeats; i++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(to, stream));
    CHECK(cudaStreamSynchronize(stream));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    ms /= static_cast<float>(repeats);
    if (bytes > 0) printf("time  %-50s %8.1f us  %7.2f TB/s\n", what, ms * 1e3, bytes / ms / 1e9);
    else printf("time  %-50s %8.1f us\n", what, ms * 1e3);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return ms;
}

static bool same(const std::vector<Peak>& a, size_t from_a, const std::vector<Peak>& b, size_t from_b, size_t n) {
    return memcmp(&a[from_a], &b[from_b], n * sizeof(Peak)) == 0;
}

// The rows of windows against single rows at the same place, bit by bit, through whole layers.
static void check_rows(Model& m, int cached, int rows, bool with_programmatic) {
    programmatic = with_programmatic;
    std::vector<int> ids(rows);
    for (int i = 0; i < rows; i++) ids[i] = (i * 7919 + 11) % m.vocabulary;
    m.ids.put(ids);
    m.cached(cached);
    m.forward(1, rows, CAUSAL);
    m.finish(rows, m.peaks);
    auto all = m.peaks.get();
    int differing = 0;
    for (int i = 0; i < rows; i++) {
        m.ids.put({ids[i]});
        m.cached(cached + i);
        m.forward(1, 1, CAUSAL);
        m.finish(1, m.draft);
        auto one = m.draft.get();
        differing += !same(all, i, one, 0, 1);
    }
    char what[99];
    snprintf(what, sizeof what, "%d rows after %d tokens, alone and in a window, %d layers%s", rows, cached, m.layers,
             with_programmatic ? "" : ", plain launches");
    report(what, differing, 0);
    programmatic = true;
}

static void check_attention(int rows, int heads, int kv_heads, int dim, int cached, int mask, int chunks) {
    const int capacity = cached + rows, group = heads / kv_heads;
    auto q = halves(static_cast<size_t>(rows) * heads * dim), k = halves(static_cast<size_t>(kv_heads) * capacity * dim),
         v = halves(static_cast<size_t>(kv_heads) * capacity * dim);
    Buffer<bf16> dq(q), dk(k), dv(v), out(q.size());
    Buffer<float> parts(static_cast<size_t>(rows) * heads * chunks * dim);
    Buffer<float2> weights(static_cast<size_t>(rows) * heads * chunks);
    Buffer<Slot> slots(std::vector<Slot>{Slot{0, capacity, cached, 0, 0, RUNNING, 0}});
    Buffer<int> order(std::vector<int>{0});
    attention({dq.at, dk.at, dv.at, slots.at, order.at, out.at, parts.at, weights.at, rows, rows, heads, kv_heads, dim,
               heads * dim, 0, mask, chunks, 64, 1.0f / sqrtf(static_cast<float>(dim)), 0});
    auto got = out.get();
    double worst = -1e30;
    for (int r = 0; r < rows; r++)
        for (int h = 0; h < heads; h++) {
            int seen = mask == CAUSAL ? cached + r + 1 : mask == DRAFT && r == 0 ? cached + 1 : cached + rows;
            const bf16* query = &q[(static_cast<size_t>(r) * heads + h) * dim];
            const size_t start = static_cast<size_t>(h / group) * capacity * dim;
            std::vector<double> s(seen), o(dim, 0.0);
            double top = -1e30, total = 0;
            for (int i = 0; i < seen; i++) {
                for (int d = 0; d < dim; d++) s[i] += static_cast<double>(widen(query[d].bits)) * widen(k[start + static_cast<size_t>(i) * dim + d].bits);
                s[i] /= sqrt(static_cast<double>(dim));
                top = s[i] > top ? s[i] : top;
            }
            for (int i = 0; i < seen; i++) {
                double w = exp(s[i] - top);
                total += w;
                for (int d = 0; d < dim; d++) o[d] += w * widen(v[start + static_cast<size_t>(i) * dim + d].bits);
            }
            for (int d = 0; d < dim; d++) {
                double e = off(widen(got[(static_cast<size_t>(r) * heads + h) * dim + d].bits), o[d] / total, 1.0 / 256);
                worst = e > worst ? e : worst;
            }
        }
    char what[99];
    snprintf(what, sizeof what, "attention %d rows, %d/%d heads of %d, %d cached, mask %d, %d parts", rows, heads, kv_heads, dim, cached, mask, chunks);
    report(what, worst, 4e-3);
}

static void vision_times(int rows, int blocks) {
    const int hidden = 1024, inner = 4096, heads = 16, dim = 64;
    Buffer<bf16> qkv_w(3ull * hidden * hidden), proj(1ull * hidden * hidden), gate_up(2ull * inner * hidden), down(1ull * hidden * inner);
    random_halves(qkv_w, 1, 0.05f);
    random_halves(proj, 2, 0.05f);
    random_halves(gate_up, 3, 0.05f);
    random_halves(down, 4, 0.05f);
    Buffer<float> norm(std::vector<float>(hidden, 1.0f)), bias(std::vector<float>(2 * inner, 0.1f)), h(floats(static_cast<size_t>(rows) * hidden));
    Buffer<bf16> x(static_cast<size_t>(rows) * hidden), qkv(static_cast<size_t>(rows) * 3 * hidden), att(static_cast<size_t>(rows) * hidden),
        act(static_cast<size_t>(rows) * inner);
    Buffer<float2> turns(std::vector<float2>(256 * 16, make_float2(0.6f, 0.8f)));
    auto parts = [&](int which) {
        for (int b = 0; b < blocks; b++) {
            if (which & 1) launch(rms_norm, dim3(rows), 256, 0, NormArguments{h.at, norm.at, x.at, rows, hidden, 1e-5f, 0});
            if (which & 2) bulk({x.at, qkv_w.at, bias.at, qkv.at, rows, 3 * hidden, hidden, hidden, 3 * hidden, 1, HALF, 0});
            if (which & 4)
                launch(vision_rotate, dim3((2 * heads * rows + 7) / 8), 256, 0,
                       VisionRotateArguments{qkv.at, norm.at, norm.at, turns.at, rows, heads, dim, 40, 2, 1e-5f});
            if (which & 8)
                attention({qkv.at, qkv.at + hidden, qkv.at + 2 * hidden, nullptr, nullptr, att.at, nullptr, nullptr, rows, rows, heads,
                           heads, dim, 3 * hidden, 3 * hidden, BLOCK, 1, 0, 0.125f, 0});
            if (which & 2) bulk({att.at, proj.at, bias.at, h.at, rows, hidden, hidden, hidden, hidden, 1, ADD, 0});
            if (which & 1) launch(rms_norm, dim3(rows), 256, 0, NormArguments{h.at, norm.at, x.at, rows, hidden, 1e-5f, 0});
            if (which & 2) {
                bulk({x.at, gate_up.at, bias.at, act.at, rows, inner, hidden, hidden, inner, 1, SWIGLU, 0});
                bulk({act.at, down.at, bias.at, h.at, rows, hidden, inner, inner, hidden, 1, ADD, 0});
            }
        }
    };
    char what[99];
    snprintf(what, sizeof what, "vision %d patches, %d blocks", rows, blocks);
    parts(15);
    float ms = time_graph(what, 5, [&] { parts(15); }, 0);
    double flops = 2.0 * rows * blocks * (3.0 * hidden * hidden + 1.0 * hidden * hidden + 3.0 * inner * hidden);
    float products = time_graph("  of it products", 5, [&] { parts(2); }, 0);
    time_graph("  of it attention", 5, [&] { parts(8); }, 0);
    printf("      products at %.0f TFLOP/s; all in %.2f ms\n", flops / products / 1e9, ms);
}

int main(int count, char** words) {
    const bool small = count > 1 && std::string(words[1]) == "small";
    CHECK(cudaStreamCreate(&stream));
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("%s, %d multiprocessors, %d.%d\n", device.name, device.multiProcessorCount, device.major, device.minor);
    if (device.major < 9) programmatic = false;

    for (int epilogue = FLOAT; epilogue <= SWIGLU; epilogue++) {
        for (auto [rows, n, k] : {std::array<int, 3>{1, 64, 64}, {2, 104, 72}, {9, 600, 64}, {33, 136, 200}, {40, 48, 592}, {70, 64, 328}})
            check_product(rows, n, k, static_cast<Epilogue>(epilogue), false);
        for (auto [rows, n, k] : {std::array<int, 3>{3, 24, 8}, {130, 200, 72}, {257, 128, 328}})
            check_product(rows, n, k, static_cast<Epilogue>(epilogue), true);
    }
    for (int mask = CAUSAL; mask <= BLOCK; mask++)
        for (int window : {1, 2, 33, 40}) check_attention(window, 4, 2, 24, 77, mask, 3);
    check_attention(33, 16, 8, 128, 150, DRAFT, 4);
    check_attention(70, 4, 2, 64, 0, CAUSAL, 1);
    check_attention(130, 2, 1, 128, 0, CAUSAL, 1);
    {
        Model m(1, small ? 128 : 1088, 2, small ? 48 : 1024);
        check_rows(m, small ? 50 : 700, small ? 5 : 40, true);
    }
    if (small) {
        printf("%d faults\n", faults);
        return faults != 0;
    }
    check_product(1, 4096, 1536, FLOAT, false);
    check_product(33, 1536, 4608, FLOAT, false);
    check_product(200, 1024, 1024, HALF, true);

    Model m(16, 1088, 18, 1024);
    check_rows(m, 700, 33, true);
    check_rows(m, 700, 33, false);
    {
        // Several sequences at once give each row the bits it has alone.
        std::vector<int> ids(18 * 33);
        for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int>(i * 7919 + 11) % m.vocabulary;
        m.ids.put(ids);
        m.cached(300, 17);
        m.forward(18, 33, DRAFT);
        m.finish(18 * 33, m.peaks);
        auto all = m.peaks.get();
        int differing = 0;
        for (int s = 0; s < 18; s += 5) {
            m.ids.put(std::vector<int>(ids.begin() + s * 33, ids.begin() + s * 33 + 33));
            m.cached(300, 17);
            m.sequence_slots.put({s});
            m.forward(1, 33, DRAFT);
            m.finish(33, m.draft);
            differing += !same(all, s * 33, m.draft.get(), 0, 33);
        }
        std::vector<int> order(18);
        for (int i = 0; i < 18; i++) order[i] = i;
        m.sequence_slots.put(order);
        report("18 sequences of 33 rows at once and one by one", differing, 0);
    }

    // Times.
    {
        Buffer<char> a(1ull << 30), b(1ull << 30);
        time_graph("copy of 1 GiB", 20, [&] { CHECK(cudaMemcpyAsync(b.at, a.at, 1ull << 30, cudaMemcpyDeviceToDevice, stream)); }, 2.0 * (1ull << 30));
    }
    m.cached(700, 0);
    const double layer_bytes = 2.0 * (4096.0 * 1536 + 1536.0 * 2048 + 9216.0 * 1536 + 1536.0 * 4608);
    const double bytes = 16 * layer_bytes + 2.0 * 59392 * 1536;
    auto whole = [&](int sequences, int rows, Mask mask) {
        return [&m, sequences, rows, mask] {
            m.forward(sequences, rows, mask);
            m.finish(sequences * rows, m.peaks);
        };
    };
    time_graph("AR forward, 700 cached", 50, whole(1, 1, CAUSAL), bytes);
    programmatic = false;
    time_graph("AR forward, plain launches", 50, whole(1, 1, CAUSAL), bytes);
    programmatic = true;
    time_graph("window of 33", 50, whole(1, 33, DRAFT), bytes);
    time_graph("window of 40", 50, whole(1, 40, CAUSAL), bytes);
    time_graph("4 windows of 33", 20, whole(4, 33, DRAFT), bytes);
    time_graph("18 windows of 33", 10, whole(18, 33, DRAFT), bytes);
    time_graph("18 AR rows", 20, whole(18, 1, CAUSAL), bytes);
    m.cached(0);
    time_graph("prefill of 330", 10, [&] { m.forward(1, 330, CAUSAL, true); }, 0);
    time_graph("prefill of 1000", 10, [&] { m.forward(1, 1000, CAUSAL, true); }, 0);
    m.cached(700, 0);
    float round = time_graph("a round (draft, verify, settle)", 1, [&] {
        RoundArguments r = m.round(1, 33);
        launch(begin, dim3(1), 32, 0, r);
        m.forward(1, 33, DRAFT);
        m.finish(33, m.draft);
        launch(begin_verify, dim3(1), 32, 0, r);
        m.forward(1, 33, CAUSAL);
        m.finish(33, m.peaks);
        launch(settle, dim3(1), 32, 0, r);
    }, 0);
    printf("      %.0f tok/s at 17 accepted of 32\n", 19.0 / round * 1e3);

    // Each kind of product by itself, over all layers' weights so that the cache does not hold them.
    for (int rows : {1, 33}) {
        struct Kind {
            const char* name;
            Buffer<bf16>* weight;
            int n, k;
            Epilogue epilogue;
        };
        for (Kind kind : {Kind{"qkv", &m.qkv, 4096, 1536, FLOAT}, {"o", &m.o, 1536, 2048, FLOAT},
                          {"gate_up", &m.gate_up, 4608, 1536, SWIGLU}, {"down", &m.down, 1536, 4608, FLOAT}}) {
            const size_t size = static_cast<size_t>(kind.epilogue == SWIGLU ? 2 : 1) * kind.n * kind.k;
            void* out = kind.epilogue == SWIGLU ? static_cast<void*>(m.act.at) : m.parts.at;
            char what[99];
            snprintf(what, sizeof what, "%s, %d rows, 16 layers", kind.name, rows);
            time_graph(what, 20, [&] {
                for (int l = 0; l < 16; l++)
                    window({m.act.at, kind.weight->at + l * size, nullptr, out, rows, kind.n, kind.k, kind.k, kind.n,
                            kind.epilogue == FLOAT ? splits(kind.n, kind.k) : 1, kind.epilogue, 0});
            }, 32.0 * size);
        }
        time_graph(rows == 1 ? "head, 1 row" : "head, 33 rows", 20, [&] {
            window({m.x.at, m.head.at, nullptr, m.peak_parts.at, rows, 59392, 1536, 1536, 0, 1, PEAKS, 0});
        }, 2.0 * 59392 * 1536);
        time_graph(rows == 1 ? "peak, 1 row, 16 times" : "peak, 33 rows, 16 times", 20, [&] { for (int l = 0; l < 16; l++) m.finish(rows, m.peaks); }, 0);
        time_graph("attention and combine, 16 layers", 20, [&] {
            for (int l = 0; l < 16; l++)
                attention({m.q.at, m.keys.at + l * m.keys.count / 16, m.values.at + l * m.keys.count / 16, m.slots.at, m.sequence_slots.at,
                           m.att.at, m.attention_parts.at, m.weights.at, rows, rows, 16, 8, 128, 2048, 0, CAUSAL, m.chunks, 64, 0.088f, 0});
        }, 0);
        time_graph("add_norm, 32 times", 20, [&] {
            for (int l = 0; l < 32; l++)
                launch(add_norm, dim3(rows), 256, 6144, AddNormArguments{m.parts.at, m.norm.at, m.norm.at, m.stream_rows.at, m.x.at, rows, 1536, 6, 1e-5f});
        }, 0);
        time_graph("rotate_store, 16 times", 20, [&] {
            for (int l = 0; l < 16; l++)
                launch(rotate_store, dim3(rows, 8), 256, 0,
                       RotateStoreArguments{m.parts.at, m.turns.at, nullptr, m.slots.at, m.sequence_slots.at, m.q.at, m.keys.at, m.values.at,
                                            rows, rows, 16, 8, 128, 2, 16, 24, m.capacity, 0});
        }, 0);
    }
    vision_times(1320, 24);
    vision_times(4000, 24);
    CHECK(cudaDeviceSynchronize());
    printf("%d faults\n", faults);
    return faults != 0;
}
