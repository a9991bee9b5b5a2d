/* MIG: modes, GPU instances and compute instances, with the rules of the hardware.
 *
 * The file `mig` holds what boards keep beyond a process, one fact a line:
 *   mode UUID CURRENT PENDING | gi UUID ID PROFILE START | ci UUID GPU-INSTANCE ID PROFILE
 * A line more may follow for other GPUs; each change reads and writes all of it under flock.
 */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PARTS = 1024, LINES = 512 };
typedef struct { uint32_t start, size; } placement;

static part parts[PARTS];
static int part_count;

part *part_handle(handle_kind kind, gpu *of, int instance, int compute) {
  part *found = 0;
  lock_fake();
  for (int i = 0; i < part_count && !found; i++)
    if (parts[i].kind == kind && parts[i].of == of && parts[i].instance == instance
        && parts[i].compute_instance == compute) found = &parts[i];
  if (!found) {
    if (part_count == PARTS) abort();
    found = &parts[part_count++];
    *found = (part){kind, of, instance, compute};
  }
  unlock_fake();
  return found;
}

part *as_part(void *handle, handle_kind kind) {
  part *p = handle;
  return p && p->kind == kind ? p : 0;
}

/* --- the file --- */

typedef struct { char uuid[NAME]; mig_state state; } board_state;
static __thread board_state all[GPUS];
static __thread int all_count;

static mig_state *state_of(const char *uuid) {
  for (int i = 0; i < all_count; i++)
    if (!strcmp(all[i].uuid, uuid)) return &all[i].state;
  if (all_count == GPUS) abort();
  board_state *added = &all[all_count++];
  memset(added, 0, sizeof *added);
  added->state.current = added->state.pending = NONE;
  snprintf(added->uuid, NAME, "%s", uuid);
  return &added->state;
}

static void read_all(void) {
  char line[256], kind[8], uuid[NAME];
  int a, b, c, given;
  FILE *file = fopen(path_of("mig"), "r");
  all_count = 0;
  while (file && fgets(line, sizeof line, file)) {
    given = sscanf(line, "%7s %95s %d %d %d", kind, uuid, &a, &b, &c);
    if (given < 4) continue;
    mig_state *s = state_of(uuid);
    if (!strcmp(kind, "mode")) { s->current = a; s->pending = b; }
    if (!strcmp(kind, "gi")) s->gpu_instances[s->gpu_instance_count++] = (gpu_instance){a, (unsigned)b, (unsigned)c};
    if (!strcmp(kind, "ci")) s->compute_instances[s->compute_instance_count++] = (compute_instance){a, b, (unsigned)c};
  }
  if (file) fclose(file);
}

static void write_all(void) {
  char next[4096];
  snprintf(next, sizeof next, "%s", path_of("mig.next"));
  FILE *file = fopen(next, "w");
  if (!file) { perror(next); abort(); }
  for (int i = 0; i < all_count; i++) {
    mig_state *s = &all[i].state;
    if (s->current != NONE) fprintf(file, "mode %s %d %d\n", all[i].uuid, s->current, s->pending);
    for (int j = 0; j < s->gpu_instance_count; j++)
      fprintf(file, "gi %s %d %u %u\n", all[i].uuid, s->gpu_instances[j].id, s->gpu_instances[j].profile, s->gpu_instances[j].start);
    for (int j = 0; j < s->compute_instance_count; j++)
      fprintf(file, "ci %s %d %d %u\n", all[i].uuid, s->compute_instances[j].gpu_instance, s->compute_instances[j].id, s->compute_instances[j].profile);
  }
  fclose(file);
  if (rename(next, path_of("mig"))) { perror("mig"); abort(); }
}

static int begin_change(void) {
  int file = open(path_of("mig.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || flock(file, LOCK_EX)) { perror("mig.lock"); abort(); }
  read_all();
  return file;
}

static void end_change(int file, int is_changed) {
  if (is_changed) write_all();
  close(file);
}

static mig_state *complete(const gpu *g) {
  mig_state *s = state_of(g->uuid);
  if (s->current == NONE) {
    s->current = (int)number(g, "mig", 0);
    s->pending = (int)number(g, "pending", s->current);
  }
  return s;
}

void mig_of(const gpu *g, mig_state *state) {
  read_all();
  lock_fake();
  *state = *complete(g);
  unlock_fake();
}

void mig_uuid(const gpu *g, int instance, int compute, char *target, unsigned size) {
  char name[NAME + 32];
  uint64_t hash = 14695981039346656037ULL;
  snprintf(name, sizeof name, "%s/%d/%d", g->uuid, instance, compute);
  for (const char *at = name; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211ULL;
  snprintf(target, size, "MIG-%08x-%04x-5%03x-8%03x-%012llx", (unsigned)(hash >> 32), (unsigned)(hash >> 16) & 0xFFFF,
           (unsigned)hash & 0xFFF, (unsigned)(hash >> 20) & 0xFFF, (unsigned long long)hash & 0xFFFFFFFFFFFFULL);
}

static int is_used(const gpu *g, int instance) {
  process there[64];
  lock_fake();
  int count = processes_of(g, there, 64), used = 0;
  unlock_fake();
  for (int i = 0; i < count && i < 64; i++)
    used |= instance == NONE || there[i].instance == (uint32_t)instance;
  return used;
}

static const gpu_instance *instance_of(const mig_state *s, int id) {
  for (int i = 0; i < s->gpu_instance_count; i++)
    if (s->gpu_instances[i].id == id) return &s->gpu_instances[i];
  return 0;
}

static const compute_instance *compute_of(const mig_state *s, int instance, int id) {
  for (int i = 0; i < s->compute_instance_count; i++)
    if (s->compute_instances[i].gpu_instance == instance && s->compute_instances[i].id == id) return &s->compute_instances[i];
  return 0;
}

/* --- modes --- */

nvmlReturn_t nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
  GPU_OR_RETURN(handle);
  mig_state s;
  if (!g->board->has_mig) return NOT_SUPPORTED;
  mig_of(g, &s);
  *current = (unsigned)s.current;
  *pending = (unsigned)s.pending;
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceSetMigMode(void *handle, unsigned mode, nvmlReturn_t *activation) {
  GPU_OR_RETURN(handle);
  if (!g->board->has_mig) return NOT_SUPPORTED;
  int used = is_used(g, NONE), file = begin_change();
  mig_state *s = complete(g);
  *activation = SUCCESS;
  s->pending = (int)mode;
  /* A switch that cannot happen now stays pending, and only the activation status says so. */
  if (s->current == s->pending) {}
  else if (used || s->gpu_instance_count || (number(g, "watched", 0) && watchers_of(g))) *activation = IN_USE;
  else if (g->board->toggles_mig) s->current = (int)mode;
  else *activation = RESET_REQUIRED;
  end_change(file, 1);
  return SUCCESS;
}

/* --- profiles --- */

static const profile *profile_at(const board *b, unsigned index) {
  for (unsigned i = 0; i < b->profile_count; i++)
    if (b->profiles[i].index == index) return &b->profiles[i];
  return 0;
}

typedef struct { uint32_t id, peer, slices, instances, sms, copy, decoders, encoders, jpegs, ofas; uint64_t mebibytes; } profile_v1;
typedef struct { uint32_t version, id, peer, slices, instances, sms, copy, decoders, encoders, jpegs, ofas, pad; uint64_t mebibytes; char name[96]; } profile_v2;
_Static_assert(sizeof(profile_v1) == 48 && sizeof(profile_v2) == 152, "as NVML lays them out");

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(void *handle, unsigned index, profile_v1 *info) {
  GPU_OR_RETURN(handle);
  const profile *p = profile_at(g->board, index);
  if (index > 0x11) return INVALID_ARGUMENT;
  if (!p) return NOT_SUPPORTED;
  *info = (profile_v1){p->id, 0, p->slices, p->instances, p->multiprocessors, p->copy_engines, p->decoders, p->encoders, p->jpegs, p->ofas, p->mebibytes};
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(void *handle, unsigned index, profile_v2 *info) {
  GPU_OR_RETURN(handle);
  const profile *p = profile_at(g->board, index);
  if (info->version != 0x02000098) return VERSION_MISMATCH;
  if (index > 0x11) return INVALID_ARGUMENT;
  if (!p) return NOT_SUPPORTED;
  *info = (profile_v2){info->version, p->id, 0, p->slices, p->instances, p->multiprocessors, p->copy_engines, p->decoders, p->encoders, p->jpegs, p->ofas, 0, p->mebibytes, ""};
  snprintf(info->name, sizeof info->name, "%s", p->name);
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(void *handle, unsigned id, placement *places, unsigned *count) {
  GPU_OR_RETURN(handle);
  const profile *p = profile_of(g->board, id);
  if (!p) return g->board->has_mig ? INVALID_ARGUMENT : NOT_SUPPORTED;
  if (places && *count < p->start_count) return INSUFFICIENT_SIZE;
  for (unsigned i = 0; places && i < p->start_count; i++) places[i] = (placement){p->starts[i], p->memory_slices};
  *count = p->start_count;
  return SUCCESS;
}

/* --- GPU instances --- */

static nvmlReturn_t may_lie(const gpu *g, const mig_state *s, const profile *p, unsigned start) {
  int is_possible = 0;
  unsigned same = 0;
  for (unsigned i = 0; i < p->start_count; i++) is_possible |= p->starts[i] == start;
  if (!is_possible) return INVALID_ARGUMENT;
  for (int i = 0; i < s->gpu_instance_count; i++) {
    const gpu_instance *other = &s->gpu_instances[i];
    const profile *its = profile_of(g->board, other->profile);
    same += other->profile == p->id;
    if (start < other->start + its->memory_slices && other->start < start + p->memory_slices) return INSUFFICIENT_RESOURCES;
  }
  return same < p->instances ? SUCCESS : INSUFFICIENT_RESOURCES;
}

nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(void *handle, unsigned id, const placement *where, part **created) {
  GPU_OR_RETURN(handle);
  const profile *p = profile_of(g->board, id);
  if (!g->board->has_mig) return NOT_SUPPORTED;
  if (!p || where->size != p->memory_slices) return INVALID_ARGUMENT;
  int file = begin_change();
  mig_state *s = complete(g);
  nvmlReturn_t answer = s->current ? may_lie(g, s, p, where->start) : NOT_SUPPORTED;
  int number = p->memory_slices == 8 ? 0 : 1;
  while (instance_of(s, number)) number++;
  if (answer == SUCCESS) s->gpu_instances[s->gpu_instance_count++] = (gpu_instance){number, id, where->start};
  end_change(file, answer == SUCCESS);
  if (answer == SUCCESS) *created = part_handle(A_GPU_INSTANCE, g, number, NONE);
  return answer;
}

#define INSTANCE_OR_RETURN(handle) \
  part *instance = as_part(handle, A_GPU_INSTANCE); \
  if (!instance) return INVALID_ARGUMENT; \
  gpu *g = instance->of; \
  ENTER(g)

nvmlReturn_t nvmlGpuInstanceDestroy(void *handle) {
  INSTANCE_OR_RETURN(handle);
  int used = is_used(g, instance->instance), file = begin_change();
  mig_state *s = complete(g);
  nvmlReturn_t answer = instance_of(s, instance->instance) ? SUCCESS : NOT_FOUND;
  for (int i = 0; i < s->compute_instance_count; i++)
    if (s->compute_instances[i].gpu_instance == instance->instance) answer = IN_USE;
  if (used) answer = IN_USE;
  for (int i = 0; answer == SUCCESS && i < s->gpu_instance_count; i++)
    if (s->gpu_instances[i].id == instance->instance) {
      s->gpu_instances[i] = s->gpu_instances[--s->gpu_instance_count];
      break;
    }
  end_change(file, answer == SUCCESS);
  return answer;
}

nvmlReturn_t nvmlDeviceGetGpuInstances(void *handle, unsigned id, part **found, unsigned *count) {
  GPU_OR_RETURN(handle);
  mig_state s;
  if (!g->board->has_mig) return NOT_SUPPORTED;
  mig_of(g, &s);
  if (!s.current) return NOT_SUPPORTED;
  *count = 0;
  for (int i = 0; i < s.gpu_instance_count; i++)
    if (s.gpu_instances[i].profile == id) found[(*count)++] = part_handle(A_GPU_INSTANCE, g, s.gpu_instances[i].id, NONE);
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(void *handle, unsigned id, part **found) {
  GPU_OR_RETURN(handle);
  mig_state s;
  if (!g->board->has_mig) return NOT_SUPPORTED;
  mig_of(g, &s);
  if (!s.current) return NOT_SUPPORTED;
  if (!instance_of(&s, (int)id)) return NOT_FOUND;
  *found = part_handle(A_GPU_INSTANCE, g, (int)id, NONE);
  return SUCCESS;
}

typedef struct { void *device; uint32_t id, profile; placement where; } gpu_instance_info;
_Static_assert(sizeof(gpu_instance_info) == 24, "as NVML lays it out");

nvmlReturn_t nvmlGpuInstanceGetInfo(void *handle, gpu_instance_info *info) {
  INSTANCE_OR_RETURN(handle);
  mig_state s;
  mig_of(g, &s);
  const gpu_instance *it = instance_of(&s, instance->instance);
  if (!it) return NOT_FOUND;
  *info = (gpu_instance_info){g, (uint32_t)it->id, it->profile, {it->start, profile_of(g->board, it->profile)->memory_slices}};
  return SUCCESS;
}

/* --- compute instances; a profile's index is its id, and says how many slices it has --- */

static const unsigned compute_slices[] = {1, 2, 3, 4, 7, 8, 6};

typedef struct { uint32_t id, slices, instances, sms, copy, decoders, encoders, jpegs, ofas; } compute_v1;
typedef struct { uint32_t version, id, slices, instances, sms, copy, decoders, encoders, jpegs, ofas; char name[96]; } compute_v2;
_Static_assert(sizeof(compute_v2) == 136, "as NVML lays it out");

static nvmlReturn_t compute_profile(part *instance, unsigned index, compute_v1 *info) {
  mig_state s;
  mig_of(instance->of, &s);
  const gpu_instance *it = instance_of(&s, instance->instance);
  if (!it) return NOT_FOUND;
  const profile *p = profile_of(instance->of->board, it->profile);
  if (index >= sizeof compute_slices / sizeof *compute_slices || compute_slices[index] > p->slices) return NOT_SUPPORTED;
  unsigned slices = compute_slices[index];
  *info = (compute_v1){index, slices, p->slices / slices, p->multiprocessors * slices / p->slices, p->copy_engines, p->decoders, p->encoders, p->jpegs, p->ofas};
  return SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(void *handle, unsigned index, unsigned engine, compute_v1 *info) {
  INSTANCE_OR_RETURN(handle);
  return engine ? INVALID_ARGUMENT : compute_profile(instance, index, info);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(void *handle, unsigned index, unsigned engine, compute_v2 *info) {
  INSTANCE_OR_RETURN(handle);
  compute_v1 found;
  if (info->version != 0x02000088) return VERSION_MISMATCH;
  nvmlReturn_t answer = engine ? INVALID_ARGUMENT : compute_profile(instance, index, &found);
  if (answer == SUCCESS) memcpy(&info->id, &found, sizeof found);
  return answer;
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(void *handle, unsigned id, part **created) {
  INSTANCE_OR_RETURN(handle);
  int file = begin_change(), number = 0;
  unsigned taken = 0;
  mig_state *s = complete(g);
  const gpu_instance *it = instance_of(s, instance->instance);
  if (!it || id >= sizeof compute_slices / sizeof *compute_slices) {
    end_change(file, 0);
    return it ? INVALID_ARGUMENT : NOT_FOUND;
  }
  for (int i = 0; i < s->compute_instance_count; i++)
    if (s->compute_instances[i].gpu_instance == it->id) taken += compute_slices[s->compute_instances[i].profile];
  while (compute_of(s, it->id, number)) number++;
  int fits = taken + compute_slices[id] <= profile_of(g->board, it->profile)->slices;
  if (fits) s->compute_instances[s->compute_instance_count++] = (compute_instance){it->id, number, id};
  end_change(file, fits);
  if (fits) *created = part_handle(A_COMPUTE_INSTANCE, g, instance->instance, number);
  return fits ? SUCCESS : INSUFFICIENT_RESOURCES;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(void *handle, unsigned id, part **found, unsigned *count) {
  INSTANCE_OR_RETURN(handle);
  mig_state s;
  mig_of(g, &s);
  *count = 0;
  for (int i = 0; i < s.compute_instance_count; i++)
    if (s.compute_instances[i].gpu_instance == instance->instance && s.compute_instances[i].profile == id)
      found[(*count)++] = part_handle(A_COMPUTE_INSTANCE, g, instance->instance, s.compute_instances[i].id);
  return SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(void *handle, unsigned id, part **found) {
  INSTANCE_OR_RETURN(handle);
  mig_state s;
  mig_of(g, &s);
  if (!compute_of(&s, instance->instance, (int)id)) return NOT_FOUND;
  *found = part_handle(A_COMPUTE_INSTANCE, g, instance->instance, (int)id);
  return SUCCESS;
}

#define COMPUTE_OR_RETURN(handle) \
  part *compute = as_part(handle, A_COMPUTE_INSTANCE); \
  if (!compute) return INVALID_ARGUMENT; \
  gpu *g = compute->of; \
  ENTER(g)

nvmlReturn_t nvmlComputeInstanceDestroy(void *handle) {
  COMPUTE_OR_RETURN(handle);
  int used = is_used(g, compute->instance), file = begin_change();
  mig_state *s = complete(g);
  nvmlReturn_t answer = compute_of(s, compute->instance, compute->compute_instance) ? SUCCESS : NOT_FOUND;
  if (used) answer = IN_USE;
  for (int i = 0; answer == SUCCESS && i < s->compute_instance_count; i++)
    if (s->compute_instances[i].gpu_instance == compute->instance && s->compute_instances[i].id == compute->compute_instance) {
      s->compute_instances[i] = s->compute_instances[--s->compute_instance_count];
      break;
    }
  end_change(file, answer == SUCCESS);
  return answer;
}

typedef struct { void *device, *instance; uint32_t id, profile; placement where; } compute_info;
_Static_assert(sizeof(compute_info) == 32, "as NVML lays it out");

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(void *handle, compute_info *info) {
  COMPUTE_OR_RETURN(handle);
  mig_state s;
  mig_of(g, &s);
  const compute_instance *it = compute_of(&s, compute->instance, compute->compute_instance);
  if (!it) return NOT_FOUND;
  /* NVML gives the handle of the MIG device itself, whose UUID a container sees. */
  *info = (compute_info){part_handle(A_MIG_DEVICE, g, compute->instance, compute->compute_instance),
                         part_handle(A_GPU_INSTANCE, g, compute->instance, NONE),
                         (uint32_t)it->id, it->profile, {0, compute_slices[it->profile]}};
  return SUCCESS;
}

/* --- MIG devices --- */

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) {
  GPU_OR_RETURN(handle);
  *count = g->board->has_mig ? 7 : 0;
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, part **found) {
  GPU_OR_RETURN(handle);
  mig_state s;
  if (!g->board->has_mig) return NOT_SUPPORTED;
  mig_of(g, &s);
  if (!s.current || (int)index >= s.compute_instance_count) return NOT_FOUND;
  *found = part_handle(A_MIG_DEVICE, g, s.compute_instances[index].gpu_instance, s.compute_instances[index].id);
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(void *handle, unsigned *is_mig) {
  ENTER(0);
  *is_mig = as_part(handle, A_MIG_DEVICE) != 0;
  return SUCCESS;
}

#define MIG_OR_RETURN(handle) \
  part *mig = as_part(handle, A_MIG_DEVICE); \
  if (!mig) return INVALID_ARGUMENT; \
  gpu *g = mig->of; \
  ENTER(g)

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *handle, gpu **parent) { MIG_OR_RETURN(handle); *parent = g; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetGpuInstanceId(void *handle, unsigned *id) { MIG_OR_RETURN(handle); *id = (unsigned)mig->instance; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetComputeInstanceId(void *handle, unsigned *id) { MIG_OR_RETURN(handle); *id = (unsigned)mig->compute_instance; return SUCCESS; }

typedef struct { uint32_t sms, copy, decoders, encoders, jpegs, ofas, instance_slices, compute_slices; uint64_t mebibytes; } attributes;
_Static_assert(sizeof(attributes) == 40, "as NVML lays it out");

nvmlReturn_t nvmlDeviceGetAttributes_v2(void *handle, attributes *found) {
  MIG_OR_RETURN(handle);
  mig_state s;
  mig_of(g, &s);
  const gpu_instance *it = instance_of(&s, mig->instance);
  const compute_instance *its = compute_of(&s, mig->instance, mig->compute_instance);
  if (!it || !its) return NOT_FOUND;
  const profile *p = profile_of(g->board, it->profile);
  unsigned slices = compute_slices[its->profile];
  *found = (attributes){p->multiprocessors * slices / p->slices, p->copy_engines, p->decoders, p->encoders, p->jpegs, p->ofas, p->slices, slices, p->mebibytes};
  return SUCCESS;
}
