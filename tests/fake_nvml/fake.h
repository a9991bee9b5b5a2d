/* The fake libnvidia-ml.so.1: what its files share.
 *
 * FAKE_NVML names a directory with three files (node-agent.md 7.1):
 *   machine  what the host has; read again when it changes (fields: machine.c)
 *   mig      MIG modes and instances; changed by these calls under flock of mig.lock
 *   events   one event a line, appended by tests; each event set reads from where it began
 */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include <stdint.h>

typedef int nvmlReturn_t;

enum {
  SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
  DRIVER_NOT_LOADED = 9, TIMEOUT = 10, FUNCTION_NOT_FOUND = 13, GPU_IS_LOST = 15,
  RESET_REQUIRED = 16, IN_USE = 19, INSUFFICIENT_RESOURCES = 23, VERSION_MISMATCH = 25, UNKNOWN = 999
};

enum { GPUS = 32, PROFILES = 8, STARTS = 8, NAME = 96, WORDS = 2048, NONE = -1 };

typedef struct {
  unsigned index, id, slices, instances, multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
  uint64_t mebibytes;
  const char *name;
  unsigned memory_slices, start_count, starts[STARTS];
} profile;

typedef struct {
  const char *key, *name;
  unsigned brand, architecture, major, minor;
  uint64_t memory_bytes;
  int has_ecc, has_mig, toggles_mig;
  unsigned profile_count;
  profile profiles[PROFILES];
} board;

/* Handles are pointers to these; the kind tells a wrong one from a right one. */
typedef enum { A_GPU = 0x4750, A_MIG_DEVICE, A_GPU_INSTANCE, A_COMPUTE_INSTANCE, AN_EVENT_SET } handle_kind;

typedef struct {
  handle_kind kind;
  int is_there;
  const board *board;
  char uuid[NAME];
  char words[WORDS + 2]; /* the rest of its line: key=value ... */
} gpu;

typedef struct {
  handle_kind kind;
  gpu *of;
  int instance, compute_instance;
} part;

/* boards.c */
const board *board_named(const char *key);
const profile *profile_of(const board *b, unsigned id);

/* machine.c */
void look(void); /* reads the machine again if it changed; callers hold the lock */
void lock_fake(void);
void unlock_fake(void);
int gpu_count(void);
gpu *gpu_at(int index);
gpu *gpu_with(const char *uuid);
const char *machine_word(const char *key, const char *otherwise);
long number(const gpu *g, const char *key, long otherwise);
int word(const gpu *g, const char *key, char *target, unsigned size);
nvmlReturn_t enter(const char *function, const gpu *g);
const char *path_of(const char *file);

typedef struct { uint32_t pid, pad; uint64_t memory; uint32_t instance, compute_instance; } process;
int processes_of(const gpu *g, process *found, int room);

/* mig.c */
typedef struct { int id; unsigned profile, start; } gpu_instance;
typedef struct { int gpu_instance, id; unsigned profile; } compute_instance;
typedef struct {
  int current, pending, gpu_instance_count, compute_instance_count;
  gpu_instance gpu_instances[16];
  compute_instance compute_instances[32];
} mig_state;
void mig_of(const gpu *g, mig_state *state);
void mig_uuid(const gpu *g, int instance, int compute, char *target, unsigned size);
part *part_handle(handle_kind kind, gpu *of, int instance, int compute);
part *as_part(void *handle, handle_kind kind);
gpu *as_gpu(void *handle);

/* events.c */
int watchers_of(const gpu *g); /* event sets of this process that wait for its events */

/* Every exported function begins so: test's error code or delay first, then the GPU's own state. */
#define ENTER(g) do { nvmlReturn_t told = enter(__func__, g); if (told != SUCCESS) return told; } while (0)
#define GPU_OR_RETURN(handle) \
  gpu *g = as_gpu(handle); \
  if (!g) return INVALID_ARGUMENT; \
  ENTER(g)

#endif
