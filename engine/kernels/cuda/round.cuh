// What happens between the forwards of a round: windows assembled, drafts accepted, progress recorded. One warp for each
// sequence.
#pragma once

#include "abi.h"

DEVICE Slot* slot_of(const RoundArguments& p, int sequence) {
    int which = p.sequence_slots[sequence];
    return which < 0 ? nullptr : p.slots + which;
}

KERNEL(begin, 32, RoundArguments) {
    let_next();
    wait_previous();
    const int sequence = blockIdx.x, lane = threadIdx.x;
    Slot* slot = slot_of(p, sequence);
    int boundary = p.filler;
    if (slot != nullptr && slot->state == RUNNING) {
        boundary = slot->boundary;
        // The verifier's window starts one token later.
        if (lane == 0 && slot->cached + p.window + (p.window > 1 ? 1 : 0) > slot->capacity) slot->state = FULL;
    }
    for (int i = lane; i < p.window; i += 32) p.ids[sequence * p.window + i] = i == 0 ? boundary : p.filler;
}

KERNEL(begin_verify, 32, RoundArguments) {
    let_next();
    wait_previous();
    const int sequence = blockIdx.x, lane = threadIdx.x;
    Slot* slot = slot_of(p, sequence);
    if (lane == 0 && slot != nullptr && slot->state == RUNNING) slot->cached += 1;
    for (int i = lane; i < p.window; i += 32) p.ids[sequence * p.window + i] = p.draft[sequence * p.window + i].id;
}

KERNEL(settle, 32, RoundArguments) {
    __shared__ int draft[MAX_WINDOW], verify[MAX_WINDOW];
    let_next();
    wait_previous();
    const int sequence = blockIdx.x, lane = threadIdx.x;
    Slot* slot = slot_of(p, sequence);
    Record& record = p.records[sequence];
    const bool speculative = p.window > 1;
    for (int i = lane; i < p.window; i += 32) {
        Peak v = p.verify[sequence * p.window + i], d{};
        if (speculative) d = p.draft[sequence * p.window + i];
        record.verify[i] = v;
        record.draft[i] = d;
        verify[i] = v.id;
        draft[i] = d.id;
    }
    block_barrier();
    if (lane != 0) return;
    record.window = p.window;
    record.accepted = 0;
    if (slot == nullptr) {
        record.slot = -1;
        record.round = record.cached = record.state = 0;
        return;
    }
    Slot now = *slot;
    if (now.state == RUNNING) {
        int accepted = 0;
        while (accepted + 1 < p.window && draft[accepted + 1] == verify[accepted]) accepted++;
        bool ended = false;
        for (int e = 0; e < p.end_count; e++) {
            int end = p.ends[e];
            ended = ended || verify[accepted] == end;
            for (int i = 0; i <= accepted && speculative; i++) ended = ended || draft[i] == end;
        }
        now.cached += accepted + 1;
        now.boundary = verify[accepted];
        now.round += 1;
        if (ended) now.state = ENDED;
        *slot = now;
        record.accepted = accepted;
    }
    record.slot = p.sequence_slots[sequence];
    record.round = now.round;
    record.cached = now.cached;
    record.state = now.state;
}
