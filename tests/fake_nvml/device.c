/* The library itself and whole GPUs: facts, readings, vital signs. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nvmlReturn_t text(char *target, unsigned size, const char *value) {
  if (strlen(value) >= size) return INSUFFICIENT_SIZE;
  snprintf(target, size, "%s", value);
  return SUCCESS;
}

static nvmlReturn_t told_text(const gpu *g, const char *key, char *target, unsigned size) {
  char value[NAME];
  return word(g, key, value, sizeof value) ? text(target, size, value) : NOT_SUPPORTED;
}

/* A number that the GPU's line gives, or the board's default; less than 0: not offered. */
static nvmlReturn_t told(const gpu *g, const char *key, long otherwise, unsigned *value) {
  long found = number(g, key, otherwise);
  if (found < 0) return NOT_SUPPORTED;
  *value = (unsigned)found;
  return SUCCESS;
}

/* --- the library --- */

nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  ENTER(0);
  int code = atoi(machine_word("init", "0"));
  return code ? code : flags & 1 || gpu_count() ? SUCCESS : NOT_FOUND;
}
nvmlReturn_t nvmlShutdown(void) { ENTER(0); return SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t code) { return code == 18 ? "Driver/library version mismatch" : "an error of the fake"; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *target, unsigned size) { ENTER(0); return text(target, size, machine_word("driver", "580.95.05")); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *target, unsigned size) { ENTER(0); return text(target, size, machine_word("nvml", "13.580.95.05")); }
static nvmlReturn_t cuda(int *version) { *version = atoi(machine_word("cuda", "13000")); return SUCCESS; }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { ENTER(0); return cuda(version); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { ENTER(0); return cuda(version); }

/* --- handles --- */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { ENTER(0); *count = (unsigned)gpu_count(); return SUCCESS; }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu **handle) {
  ENTER(gpu_at((int)index));
  *handle = gpu_at((int)index);
  return *handle ? SUCCESS : INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
  gpu *g = gpu_with(uuid);
  ENTER(g);
  *handle = g;
  for (int i = 0; !*handle && i < gpu_count(); i++) {
    mig_state s;
    char its[NAME];
    mig_of(gpu_at(i), &s);
    for (int j = 0; j < s.compute_instance_count; j++) {
      mig_uuid(gpu_at(i), s.compute_instances[j].gpu_instance, s.compute_instances[j].id, its, sizeof its);
      if (!strcmp(its, uuid)) *handle = part_handle(A_MIG_DEVICE, gpu_at(i), s.compute_instances[j].gpu_instance, s.compute_instances[j].id);
    }
  }
  return *handle ? SUCCESS : NOT_FOUND;
}

static void bus_id(const gpu *g, char *target) {
  if (!word(g, "bus", target, 32)) snprintf(target, 32, "00000000:%02lX:00.0", 0x10 + number(g, "minor", 0));
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *wanted, gpu **handle) {
  char its[32];
  ENTER(0);
  for (int i = 0; i < gpu_count(); i++) {
    bus_id(gpu_at(i), its);
    if (!strcmp(its, wanted)) {
      *handle = gpu_at(i);
      return number(*handle, "lost", 0) ? GPU_IS_LOST : SUCCESS;
    }
  }
  return NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetIndex(void *handle, unsigned *index) {
  GPU_OR_RETURN(handle);
  for (*index = 0; gpu_at((int)*index) != g; ++*index) {}
  return SUCCESS;
}

/* --- facts --- */

nvmlReturn_t nvmlDeviceGetUUID(void *handle, char *target, unsigned size) {
  part *mig = as_part(handle, A_MIG_DEVICE);
  if (mig) {
    ENTER(mig->of);
    char uuid[NAME];
    mig_uuid(mig->of, mig->instance, mig->compute_instance, uuid, sizeof uuid);
    return text(target, size, uuid);
  }
  GPU_OR_RETURN(handle);
  return text(target, size, g->uuid);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(void *handle, unsigned *minor) { GPU_OR_RETURN(handle); return told(g, "minor", 0, minor); }
nvmlReturn_t nvmlDeviceGetName(void *handle, char *target, unsigned size) { GPU_OR_RETURN(handle); return text(target, size, g->board->name); }
nvmlReturn_t nvmlDeviceGetBrand(void *handle, unsigned *brand) { GPU_OR_RETURN(handle); return told(g, "brand", g->board->brand, brand); }
nvmlReturn_t nvmlDeviceGetArchitecture(void *handle, unsigned *architecture) { GPU_OR_RETURN(handle); return told(g, "architecture", g->board->architecture, architecture); }
nvmlReturn_t nvmlDeviceGetSerial(void *handle, char *target, unsigned size) { GPU_OR_RETURN(handle); return told_text(g, "serial", target, size); }
nvmlReturn_t nvmlDeviceGetBoardPartNumber(void *handle, char *target, unsigned size) { GPU_OR_RETURN(handle); return told_text(g, "part", target, size); }
nvmlReturn_t nvmlDeviceGetPersistenceMode(void *handle, unsigned *mode) { GPU_OR_RETURN(handle); return told(g, "persistence", 1, mode); }

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
  GPU_OR_RETURN(handle);
  *major = (int)g->board->major;
  *minor = (int)g->board->minor;
  return SUCCESS;
}

/* NVML's header makes this an enumeration of 4 bytes; nvidia-ml-py lends 8, zeroed. */
nvmlReturn_t nvmlDeviceGetVirtualizationMode(void *handle, unsigned *mode) { GPU_OR_RETURN(handle); return told(g, "virtualization", 0, mode); }

typedef struct { uint32_t version, value; } addressing;
nvmlReturn_t nvmlDeviceGetAddressingMode(void *handle, addressing *mode) {
  GPU_OR_RETURN(handle);
  if (mode->version != 0x01000008) return VERSION_MISMATCH;
  return told(g, "addressing", -1, &mode->value);
}

typedef struct { char legacy[16]; uint32_t domain, bus, device, id, subsystem; char bus_id[32]; } pci;
_Static_assert(sizeof(pci) == 68, "as NVML lays it out");
nvmlReturn_t nvmlDeviceGetPciInfo_v3(void *handle, pci *info) {
  GPU_OR_RETURN(handle);
  memset(info, 0, sizeof *info);
  bus_id(g, info->bus_id);
  sscanf(info->bus_id, "%x:%x:%x", &info->domain, &info->bus, &info->device);
  info->id = 0x233010de;
  return SUCCESS;
}

typedef struct { uint32_t version; uint8_t cluster[16]; nvmlReturn_t status; uint32_t clique; uint8_t state; uint32_t health; } fabric;
_Static_assert(sizeof(fabric) == 36, "as NVML lays it out");
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(void *handle, fabric *info) {
  GPU_OR_RETURN(handle);
  unsigned clique;
  if (info->version != 0x02000024) return VERSION_MISMATCH;
  if (told(g, "clique", -1, &clique) != SUCCESS) return NOT_SUPPORTED;
  for (int i = 0; i < 16; i++) info->cluster[i] = number(g, "cluster", 1) ? (uint8_t)(0x10 + i) : 0;
  info->status = SUCCESS;
  info->clique = clique;
  info->state = (uint8_t)number(g, "fabric", 3);
  return SUCCESS;
}

/* --- readings --- */

typedef struct { uint64_t total, available, used; } memory;
typedef struct { uint32_t version, pad; uint64_t total, reserved, available, used; } memory_v2;
_Static_assert(sizeof(memory_v2) == 40, "as NVML lays it out");

static nvmlReturn_t memory_of(void *handle, uint64_t *total, uint64_t *used) {
  part *mig = as_part(handle, A_MIG_DEVICE);
  if (mig) {
    mig_state s;
    mig_of(mig->of, &s);
    for (int i = 0; i < s.gpu_instance_count; i++)
      if (s.gpu_instances[i].id == mig->instance) {
        *total = profile_of(mig->of->board, s.gpu_instances[i].profile)->mebibytes << 20;
        *used = (uint64_t)number(mig->of, "mig-used", 1000);
        return SUCCESS;
      }
    return NOT_FOUND;
  }
  gpu *g = as_gpu(handle);
  *total = g->board->memory_bytes;
  *used = (uint64_t)number(g, "used", 1000);
  return SUCCESS;
}

#define EITHER_OR_RETURN(handle) \
  part *mig_device = as_part(handle, A_MIG_DEVICE); \
  if (!mig_device && !as_gpu(handle)) return INVALID_ARGUMENT; \
  ENTER(mig_device ? mig_device->of : as_gpu(handle))

nvmlReturn_t nvmlDeviceGetMemoryInfo(void *handle, memory *info) {
  EITHER_OR_RETURN(handle);
  nvmlReturn_t answer = memory_of(handle, &info->total, &info->used);
  info->used += 5000; /* the first version counts the driver's reserve as used */
  info->available = info->total - info->used;
  return answer;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2 *info) {
  EITHER_OR_RETURN(handle);
  if (info->version != 0x02000028) return VERSION_MISMATCH;
  nvmlReturn_t answer = memory_of(handle, &info->total, &info->used);
  info->reserved = 5000;
  info->available = info->total - info->used - info->reserved;
  return answer;
}

typedef struct { uint32_t gpu, memory; } utilisation;
nvmlReturn_t nvmlDeviceGetUtilizationRates(void *handle, utilisation *rates) {
  GPU_OR_RETURN(handle);
  mig_state s;
  mig_of(g, &s);
  if (s.current) return NOT_SUPPORTED;
  rates->memory = 40;
  return told(g, "utilisation", 0, &rates->gpu);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) { GPU_OR_RETURN(handle); return told(g, "power", 70000, milliwatts); }
nvmlReturn_t nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *celsius) { GPU_OR_RETURN(handle); return sensor ? INVALID_ARGUMENT : told(g, "temperature", 35, celsius); }
nvmlReturn_t nvmlDeviceGetClockInfo(void *handle, unsigned clock, unsigned *megahertz) { GPU_OR_RETURN(handle); return clock > 3 ? INVALID_ARGUMENT : told(g, "clock", 1980, megahertz); }

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, process *found) {
  EITHER_OR_RETURN(handle);
  process there[64];
  part *mig = mig_device;
  gpu *g = mig ? mig->of : as_gpu(handle);
  lock_fake();
  int all = processes_of(g, there, 64), some = 0;
  unlock_fake();
  for (int i = 0; i < all; i++)
    if (!mig || there[i].instance == (uint32_t)mig->instance) there[some++] = there[i];
  unsigned room = *count;
  *count = (unsigned)some;
  if (room < (unsigned)some) return INSUFFICIENT_SIZE;
  if (some) memcpy(found, there, (size_t)some * sizeof *found);
  return SUCCESS;
}

/* --- details --- */

typedef struct { uint64_t total, available, used; } bar1;
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(void *handle, bar1 *info) {
  GPU_OR_RETURN(handle);
  *info = (bar1){128ULL << 30, (128ULL << 30) - 3000, 3000};
  return SUCCESS;
}

static nvmlReturn_t engine(const gpu *g, const char *key, long otherwise, unsigned *percent, unsigned *microseconds) {
  *microseconds = 167000;
  return told(g, key, otherwise, percent);
}
nvmlReturn_t nvmlDeviceGetEncoderUtilization(void *handle, unsigned *percent, unsigned *microseconds) { GPU_OR_RETURN(handle); return engine(g, "encoder", 0, percent, microseconds); }
nvmlReturn_t nvmlDeviceGetDecoderUtilization(void *handle, unsigned *percent, unsigned *microseconds) { GPU_OR_RETURN(handle); return engine(g, "decoder", 7, percent, microseconds); }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *milliwatts) { GPU_OR_RETURN(handle); return told(g, "power-limit", 700000, milliwatts); }
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *millijoules) { GPU_OR_RETURN(handle); *millijoules = 5000000000ULL; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(void *handle, unsigned threshold, unsigned *celsius) { GPU_OR_RETURN(handle); return threshold == 1 ? told(g, "slowdown", 92, celsius) : INVALID_ARGUMENT; }
nvmlReturn_t nvmlDeviceGetMaxClockInfo(void *handle, unsigned clock, unsigned *megahertz) { GPU_OR_RETURN(handle); return clock > 3 ? INVALID_ARGUMENT : told(g, "clock-limit", 1980, megahertz); }
nvmlReturn_t nvmlDeviceGetPerformanceState(void *handle, unsigned *state) { GPU_OR_RETURN(handle); return told(g, "pstate", 0, state); }
nvmlReturn_t nvmlDeviceGetFanSpeed(void *handle, unsigned *percent) { GPU_OR_RETURN(handle); return told(g, "fan", -1, percent); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(void *handle, unsigned *generation) { GPU_OR_RETURN(handle); return told(g, "pcie", 5, generation); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(void *handle, unsigned *lanes) { GPU_OR_RETURN(handle); return told(g, "lanes", 16, lanes); }
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(void *handle, unsigned *replays) { GPU_OR_RETURN(handle); return told(g, "replays", 0, replays); }

/* --- modes --- */

nvmlReturn_t nvmlDeviceGetComputeMode(void *handle, unsigned *mode) {
  GPU_OR_RETURN(handle);
  char path[4096], line[8] = "0";
  snprintf(path, sizeof path, "%s.%s", path_of("compute"), g->uuid);
  FILE *file = fopen(path, "r");
  if (file && !fgets(line, sizeof line, file)) return UNKNOWN;
  if (file) fclose(file);
  *mode = (unsigned)atoi(line);
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceSetComputeMode(void *handle, unsigned mode) {
  GPU_OR_RETURN(handle);
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", path_of("compute"), g->uuid);
  FILE *file = fopen(path, "w");
  if (!file) return UNKNOWN;
  fprintf(file, "%u", mode);
  fclose(file);
  return SUCCESS;
}

/* --- vital signs --- */

nvmlReturn_t nvmlDeviceGetEccMode(void *handle, unsigned *current, unsigned *pending) {
  GPU_OR_RETURN(handle);
  nvmlReturn_t answer = told(g, "ecc", g->board->has_ecc ? 1 : -1, current);
  if (answer == SUCCESS) *pending = *current;
  return answer;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(void *handle, unsigned kind, unsigned counter, unsigned long long *errors) {
  GPU_OR_RETURN(handle);
  unsigned found;
  if (kind > 1 || counter > 1) return INVALID_ARGUMENT;
  const char *keys[] = {"corrected", "uncorrected", "corrected-ever", "uncorrected-ever"};
  nvmlReturn_t answer = told(g, keys[kind + 2 * counter], g->board->has_ecc ? 0 : -1, &found);
  *errors = answer == SUCCESS ? found : 0;
  return answer;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(void *handle, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  GPU_OR_RETURN(handle);
  char rows[NAME] = "0,0,0,0";
  if (g->board->architecture < 7) return NOT_SUPPORTED;
  word(g, "rows", rows, sizeof rows);
  return sscanf(rows, "%u,%u,%u,%u", corrected, uncorrected, pending, failed) == 4 ? SUCCESS : UNKNOWN;
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(void *handle, unsigned *pending) {
  GPU_OR_RETURN(handle);
  return g->board->architecture < 7 ? told(g, "retired", 0, pending) : NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(void *handle, unsigned long long *reasons) {
  GPU_OR_RETURN(handle);
  unsigned found;
  nvmlReturn_t answer = told(g, "throttle", 1, &found);
  *reasons = answer == SUCCESS ? found : 0;
  return answer;
}

typedef struct { uint32_t id, scope; int64_t at, latency; uint32_t type; nvmlReturn_t code; union { uint32_t u32; uint64_t u64; } value; } field_value;
_Static_assert(sizeof(field_value) == 40, "as NVML lays it out");
nvmlReturn_t nvmlDeviceGetFieldValues(void *handle, int count, field_value *values) {
  GPU_OR_RETURN(handle);
  for (int i = 0; i < count; i++) {
    values[i].type = 1;
    values[i].code = NOT_SUPPORTED;
    if (values[i].id == 82) values[i].code = told(g, "memory-temperature", -1, &values[i].value.u32);
    if (values[i].id == 230) values[i].code = told(g, "recovery", g->board->architecture < 7 ? -1 : 0, &values[i].value.u32);
  }
  return SUCCESS;
}
