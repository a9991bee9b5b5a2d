/* What real boards say of themselves: NVIDIA's product pages and MIG guide, node-agent.md 5.4. */
#include "fake.h"

#include <string.h>

#define SEVEN 7, {0, 1, 2, 3, 4, 5, 6}
#define PAIRS 4, {0, 2, 4, 6}
#define THREE_PAIRS 3, {0, 2, 4}
#define HALVES 2, {0, 4}
#define FIRST 1, {0}

#define MIB (1ULL << 20)

/* index, id, slices, instances, SMs, copy, decoders, encoders, JPEG, OFA, MiB, name, memory slices, starts */
#define HOPPER_PROFILES(small, pair, half, all, one, two, four, eight) { \
  {0, 19, 1, 7, 16, 1, 1, 0, 1, 0, one, "MIG " small, 1, SEVEN}, \
  {1, 14, 2, 3, 32, 2, 2, 0, 2, 0, two, "MIG 2g." pair, 2, THREE_PAIRS}, \
  {2, 9, 3, 2, 60, 3, 3, 0, 3, 0, four, "MIG 3g." half, 4, HALVES}, \
  {3, 5, 4, 1, 64, 4, 4, 0, 4, 0, four, "MIG 4g." half, 4, FIRST}, \
  {4, 0, 7, 1, 132, 8, 7, 0, 7, 1, eight, "MIG 7g." all, 8, FIRST}, \
  {7, 20, 1, 1, 16, 1, 1, 0, 1, 1, one, "MIG " small "+me", 1, SEVEN}, \
  {9, 15, 1, 4, 16, 1, 1, 0, 1, 0, two, "MIG 1g." pair, 2, PAIRS}}

static const board boards[] = {
  {"A100-40", "NVIDIA A100-SXM4-40GB", 14, 7, 8, 0, 40960 * MIB, 1, 1, 0, 7, {
    {0, 19, 1, 7, 14, 1, 0, 0, 0, 0, 4864, "MIG 1g.5gb", 1, SEVEN},
    {1, 14, 2, 3, 28, 2, 1, 0, 0, 0, 9856, "MIG 2g.10gb", 2, THREE_PAIRS},
    {2, 9, 3, 2, 42, 3, 2, 0, 0, 0, 19968, "MIG 3g.20gb", 4, HALVES},
    {3, 5, 4, 1, 56, 4, 2, 0, 0, 0, 19968, "MIG 4g.20gb", 4, FIRST},
    {4, 0, 7, 1, 98, 7, 5, 0, 1, 1, 40192, "MIG 7g.40gb", 8, FIRST},
    {7, 20, 1, 1, 14, 1, 1, 0, 1, 1, 4864, "MIG 1g.5gb+me", 1, SEVEN},
    {9, 15, 1, 4, 14, 1, 1, 0, 0, 0, 9856, "MIG 1g.10gb", 2, PAIRS}}},
  {"H100-80", "NVIDIA H100 80GB HBM3", 14, 9, 9, 0, 81559 * MIB, 1, 1, 1, 7,
    HOPPER_PROFILES("1g.10gb", "20gb", "40gb", "80gb", 9984, 20096, 40448, 81152)},
  {"H200", "NVIDIA H200", 14, 9, 9, 0, 143771 * MIB, 1, 1, 1, 7,
    HOPPER_PROFILES("1g.18gb", "35gb", "71gb", "141gb", 16896, 33792, 71424, 143360)},
  {"L4", "NVIDIA L4", 14, 8, 8, 9, 23034 * MIB, 1, 0, 0, 0, {{0}}},
  {"L40S", "NVIDIA L40S", 14, 8, 8, 9, 46068 * MIB, 1, 0, 0, 0, {{0}}},
  {"T4", "Tesla T4", 2, 6, 7, 5, 15360 * MIB, 1, 0, 0, 0, {{0}}},
  {"DGX-Display", "NVIDIA DGX Display", 14, 7, 8, 6, 4096 * MIB, 0, 0, 0, 0, {{0}}},
};

const board *board_named(const char *key) {
  for (unsigned i = 0; i < sizeof boards / sizeof *boards; i++)
    if (!strcmp(boards[i].key, key)) return &boards[i];
  return 0;
}

const profile *profile_of(const board *b, unsigned id) {
  for (unsigned i = 0; i < b->profile_count; i++)
    if (b->profiles[i].id == id) return &b->profiles[i];
  return 0;
}
