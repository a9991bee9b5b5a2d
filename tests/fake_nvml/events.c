/* Event sets. A test appends lines to `events`: GPU-UUID TYPE DATA [GPU-INSTANCE COMPUTE-INSTANCE]. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { ALL_TYPES = 1 | 2 | 8 | 0x4000 | 0x8000, POLL_MILLISECONDS = 10 };

typedef struct { handle_kind kind; long read_to; int count; struct { gpu *of; unsigned long long mask; } watched[GPUS]; } event_set;
typedef struct { void *device; uint64_t type, data; uint32_t instance, compute; } event;
_Static_assert(sizeof(event) == 32, "as NVML lays it out");

static event_set *sets[GPUS];

int watchers_of(const gpu *g) {
  int found = 0;
  for (int i = 0; i < GPUS; i++)
    for (int j = 0; sets[i] && j < sets[i]->count; j++) found += sets[i]->watched[j].of == g;
  return found;
}

nvmlReturn_t nvmlEventSetCreate(event_set **created) {
  ENTER(0);
  struct stat status;
  *created = calloc(1, sizeof **created);
  (*created)->kind = AN_EVENT_SET;
  if (!stat(path_of("events"), &status)) (*created)->read_to = status.st_size;
  for (int i = 0; i < GPUS; i++)
    if (!sets[i]) { sets[i] = *created; break; }
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(void *handle, unsigned long long *types) {
  GPU_OR_RETURN(handle);
  *types = (unsigned long long)number(g, "events", ALL_TYPES);
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(void *handle, unsigned long long types, event_set *set) {
  GPU_OR_RETURN(handle);
  if (set->kind != AN_EVENT_SET || set->count == GPUS) return INVALID_ARGUMENT;
  if (types & ~(unsigned long long)number(g, "events", ALL_TYPES)) return NOT_SUPPORTED;
  set->watched[set->count].of = g;
  set->watched[set->count++].mask = types;
  return SUCCESS;
}

static int next_event(event_set *set, event *data) {
  char line[256], uuid[NAME];
  FILE *file = fopen(path_of("events"), "r");
  if (!file) return 0;
  fseek(file, set->read_to, SEEK_SET);
  int found = 0;
  while (!found && fgets(line, sizeof line, file) && strchr(line, '\n')) {
    long long type = 0, number = 0, instance = 0xFFFFFFFF, compute = 0xFFFFFFFF;
    set->read_to = ftell(file);
    if (sscanf(line, "%95s %lli %lli %lli %lli", uuid, &type, &number, &instance, &compute) < 3) continue;
    for (int i = 0; i < set->count && !found; i++)
      if (!strcmp(set->watched[i].of->uuid, uuid) && set->watched[i].mask & (unsigned long long)type) {
        *data = (event){set->watched[i].of, (uint64_t)type, (uint64_t)number, (uint32_t)instance, (uint32_t)compute};
        found = 1;
      }
  }
  fclose(file);
  return found;
}

nvmlReturn_t nvmlEventSetWait_v2(event_set *set, event *data, unsigned milliseconds) {
  if (set->kind != AN_EVENT_SET) return INVALID_ARGUMENT;
  for (unsigned waited = 0;; waited += POLL_MILLISECONDS) {
    ENTER(0);
    if (next_event(set, data)) return SUCCESS;
    for (int i = 0; i < set->count; i++)
      if (number(set->watched[i].of, "lost", 0)) return GPU_IS_LOST;
    if (waited >= milliseconds) return TIMEOUT;
    nanosleep(&(struct timespec){0, POLL_MILLISECONDS * 1000000}, 0);
  }
}

nvmlReturn_t nvmlEventSetFree(event_set *set) {
  ENTER(0);
  if (set->kind != AN_EVENT_SET) return INVALID_ARGUMENT;
  for (int i = 0; i < GPUS; i++)
    if (sets[i] == set) sets[i] = 0;
  free(set);
  return SUCCESS;
}
