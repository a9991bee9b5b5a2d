/* A libnvidia-ml.so.1 with four GPUs, each with its own gaps: an H100 that offers
 * everything, a T4 that offers little, a lost GPU, and an A100 in MIG mode.
 * NVML_STUB_INIT, a decimal code, makes initialisation fail; NVML_STUB_POWER makes
 * the first GPU's power call fail. Struct layouts: node-agent.md 7.1.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, FUNCTION_NOT_FOUND = 13, GPU_IS_LOST = 15 };
enum { H100, T4, LOST, A100, COUNT };

typedef int nvmlReturn_t;
typedef struct { int index; } device;
static device devices[COUNT] = {{H100}, {T4}, {LOST}, {A100}};

static int code_from(const char *name) {
  const char *value = getenv(name);
  return value ? atoi(value) : SUCCESS;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags) { return flags == 1 ? code_from("NVML_STUB_INIT") : 2; }
nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t code) { return code == 18 ? "Driver/library version mismatch" : "stub error"; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { *count = COUNT; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, device **handle) {
  if (index == LOST) return GPU_IS_LOST;
  *handle = &devices[index];
  return SUCCESS;
}

static nvmlReturn_t text(char *target, unsigned length, const char *value) {
  snprintf(target, length, "%s", value);
  return SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *target, unsigned length) { return text(target, length, "580.95.05"); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { *version = 13010; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetUUID(device *d, char *target, unsigned length) {
  static const char *uuids[COUNT] = {"GPU-h100", "GPU-t4", "", "GPU-a100"};
  return text(target, length, uuids[d->index]);
}
nvmlReturn_t nvmlDeviceGetName(device *d, char *target, unsigned length) {
  static const char *names[COUNT] = {"NVIDIA H100 80GB HBM3", "Tesla T4", "", "NVIDIA A100-SXM4-40GB"};
  return text(target, length, names[d->index]);
}
nvmlReturn_t nvmlDeviceGetMinorNumber(device *d, unsigned *minor) { *minor = 7 - d->index; return SUCCESS; }

typedef struct { char bus_id_legacy[16]; uint32_t domain, bus, dev, device_id, subsystem; char bus_id[32]; } pci_info;
nvmlReturn_t nvmlDeviceGetPciInfo_v3(device *d, pci_info *info) {
  memset(info, 0, sizeof *info);
  if (d->index == T4) snprintf(info->bus_id, 32, "00010000:AF:00.0");
  else snprintf(info->bus_id, 32, "00000000:%02X:00.0", 0x1b + d->index);
  return SUCCESS;
}

typedef struct { uint64_t total, available, used; } memory;
nvmlReturn_t nvmlDeviceGetMemoryInfo(device *d, memory *m) {
  (void)d;
  m->total = 85520809984ULL; m->used = 2000; m->available = m->total - m->used;
  return SUCCESS;
}
typedef struct { uint32_t version, pad; uint64_t total, reserved, available, used; } memory_v2;
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(device *d, memory_v2 *m) {
  if (m->version != 0x02000028) return 25;
  if (d->index == T4) return FUNCTION_NOT_FOUND;
  m->total = 85520809984ULL; m->reserved = 1000; m->used = 1000; m->available = m->total - 2000;
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBrand(device *d, unsigned *brand) { *brand = d->index == T4 ? 2 : 14; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetArchitecture(device *d, unsigned *architecture) {
  *architecture = d->index == T4 ? 4711 : 9;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(device *d, int *major, int *minor) {
  *major = d->index == T4 ? 7 : 9; *minor = d->index == T4 ? 5 : 0;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEccMode(device *d, unsigned *current, unsigned *pending) {
  if (d->index == T4) return NOT_SUPPORTED;
  *current = *pending = 1;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigMode(device *d, unsigned *current, unsigned *pending) {
  if (d->index == T4) return NOT_SUPPORTED;
  *current = *pending = d->index == A100;
  return SUCCESS;
}

typedef struct { uint32_t gpu, memory; } utilisation;
nvmlReturn_t nvmlDeviceGetUtilizationRates(device *d, utilisation *rates) {
  if (d->index == T4) return NOT_SUPPORTED;
  rates->gpu = 97; rates->memory = 40;
  return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(device *d, unsigned *milliwatts) {
  *milliwatts = 612345;
  return d->index == H100 ? code_from("NVML_STUB_POWER") : SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTemperature(device *d, unsigned sensor, unsigned *celsius) {
  (void)d;
  *celsius = 60;
  return sensor == 0 ? SUCCESS : 2;
}
nvmlReturn_t nvmlDeviceGetClockInfo(device *d, unsigned clock, unsigned *megahertz) {
  (void)d;
  *megahertz = 1980;
  return clock == 1 ? SUCCESS : 2;
}

typedef struct { uint32_t pid, pad; uint64_t memory; uint32_t gi, ci; } process;
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(device *d, unsigned *count, process *processes) {
  if (d->index == T4) { *count = 0; return SUCCESS; }
  if (*count < 2 || !processes) { *count = 2; return 7; }
  memset(processes, 0, 2 * sizeof *processes);
  processes[0].pid = 10; processes[1].pid = 11;
  *count = 2;
  return SUCCESS;
}
