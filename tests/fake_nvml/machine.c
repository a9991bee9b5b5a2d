/* The machine that a test describes, one fact a line:
 *
 *   set KEY VALUE                          driver, nvml, cuda, init (an error code), log (1: each call to `calls`)
 *   gpu UUID BOARD [KEY=VALUE ...]         in the order of NVML's indices
 *   process GPU-UUID PID BYTES [INSTANCE COMPUTE-INSTANCE]
 *   code FUNCTION CODE [GPU-UUID]          the function (`*`: each one) returns this
 *   delay FUNCTION MILLISECONDS            and takes so long before
 *
 * A GPU keeps its handle for as long as the process lives, whatever is written.
 */
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RULES = 64, SETTINGS = 16, PROCESSES = 64 };

typedef struct { char function[NAME], uuid[NAME]; int code; long milliseconds; } rule;
typedef struct { char key[NAME], value[NAME]; } setting;
typedef struct { char uuid[NAME]; process it; } attached;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gpu gpus[GPUS];
static gpu *order[GPUS];
static int count, rule_count, setting_count, process_count;
static rule rules[RULES];
static setting settings[SETTINGS];
static attached attached_processes[PROCESSES];
static struct timespec seen;
static ino_t seen_inode;

void lock_fake(void) { pthread_mutex_lock(&lock); }
void unlock_fake(void) { pthread_mutex_unlock(&lock); }

const char *path_of(const char *file) {
  static __thread char path[4096];
  const char *directory = getenv("FAKE_NVML");
  if (!directory) { fprintf(stderr, "fake nvml: FAKE_NVML is not set\n"); abort(); }
  snprintf(path, sizeof path, "%s/%s", directory, file);
  return path;
}

static void wrong(const char *line) {
  fprintf(stderr, "fake nvml: cannot read the line: %s\n", line);
  abort();
}

static gpu *slot(const char *uuid) {
  for (int i = 0; i < GPUS; i++)
    if (!gpus[i].kind || !strcmp(gpus[i].uuid, uuid)) return &gpus[i];
  abort();
}

static void take(char *line) {
  char kind[NAME], first[NAME], second[NAME], rest[WORDS] = "";
  int taken = 0;
  line[strcspn(line, "\n")] = 0;
  if (!*line || *line == '#') return;
  if (sscanf(line, "%95s %95s %95s%n", kind, first, second, &taken) != 3) wrong(line);
  snprintf(rest, sizeof rest, "%s", line + taken);
  if (!strcmp(kind, "set") && setting_count < SETTINGS) {
    setting *s = &settings[setting_count++];
    snprintf(s->key, NAME, "%s", first);
    snprintf(s->value, NAME, "%s", second);
  } else if (!strcmp(kind, "gpu") && count < GPUS) {
    gpu *g = slot(first);
    g->kind = A_GPU;
    g->is_there = 1;
    g->board = board_named(second);
    if (!g->board) wrong(line);
    snprintf(g->uuid, NAME, "%s", first);
    snprintf(g->words, sizeof g->words, "%s ", rest);
    order[count++] = g;
  } else if (!strcmp(kind, "process") && process_count < PROCESSES) {
    attached *a = &attached_processes[process_count++];
    unsigned long long bytes = 0;
    snprintf(a->uuid, NAME, "%s", first);
    a->it = (process){.pid = (uint32_t)atoi(second), .instance = 0xFFFFFFFF, .compute_instance = 0xFFFFFFFF};
    sscanf(rest, "%llu %u %u", &bytes, &a->it.instance, &a->it.compute_instance);
    a->it.memory = bytes;
  } else if ((!strcmp(kind, "code") || !strcmp(kind, "delay")) && rule_count < RULES) {
    rule *r = &rules[rule_count++];
    *r = (rule){.code = NONE};
    snprintf(r->function, NAME, "%s", first);
    sscanf(rest, "%95s", r->uuid);
    if (*kind == 'c') r->code = atoi(second); else r->milliseconds = atol(second);
  } else {
    wrong(line);
  }
}

void look(void) {
  struct stat status;
  char line[WORDS];
  const char *path = path_of("machine");
  if (stat(path, &status)) { perror(path); abort(); }
  if (status.st_mtim.tv_sec == seen.tv_sec && status.st_mtim.tv_nsec == seen.tv_nsec
      && status.st_ino == seen_inode) return;
  FILE *file = fopen(path, "r");
  if (!file) { perror(path); abort(); }
  seen = status.st_mtim;
  seen_inode = status.st_ino;
  count = rule_count = setting_count = process_count = 0;
  for (int i = 0; i < GPUS; i++) gpus[i].is_there = 0;
  while (fgets(line, sizeof line, file)) take(line);
  fclose(file);
}

int gpu_count(void) { return count; }
gpu *gpu_at(int index) { return index >= 0 && index < count ? order[index] : 0; }

gpu *gpu_with(const char *uuid) {
  for (int i = 0; i < count; i++)
    if (!strcmp(order[i]->uuid, uuid)) return order[i];
  return 0;
}

gpu *as_gpu(void *handle) {
  gpu *g = handle;
  return g && g->kind == A_GPU ? g : 0;
}

const char *machine_word(const char *key, const char *otherwise) {
  for (int i = 0; i < setting_count; i++)
    if (!strcmp(settings[i].key, key)) return settings[i].value;
  return otherwise;
}

int word(const gpu *g, const char *key, char *target, unsigned size) {
  char wanted[NAME];
  snprintf(wanted, sizeof wanted, " %s=", key);
  const char *at = strstr(g->words, wanted);
  if (!at) return 0;
  at += strlen(wanted);
  snprintf(target, size, "%.*s", (int)strcspn(at, " "), at);
  return 1;
}

long number(const gpu *g, const char *key, long otherwise) {
  char value[NAME];
  return word(g, key, value, sizeof value) ? strtol(value, 0, 0) : otherwise;
}

int processes_of(const gpu *g, process *found, int room) {
  int there = 0;
  for (int i = 0; i < process_count; i++)
    if (!strcmp(attached_processes[i].uuid, g->uuid)) {
      if (there < room) found[there] = attached_processes[i].it;
      there++;
    }
  return there;
}

static void note_call(const char *function) {
  char line[NAME + 1];
  int length = snprintf(line, sizeof line, "%s\n", function);
  int file = open(path_of("calls"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0 || write(file, line, (size_t)length) != length) { perror("calls"); abort(); }
  close(file);
}

nvmlReturn_t enter(const char *function, const gpu *g) {
  int code = SUCCESS;
  long milliseconds = 0;
  lock_fake();
  look();
  for (int i = 0; i < rule_count; i++) {
    if (strcmp(rules[i].function, function) && strcmp(rules[i].function, "*")) continue;
    if (*rules[i].uuid && (!g || strcmp(rules[i].uuid, g->uuid))) continue;
    if (rules[i].code != NONE) code = rules[i].code; else milliseconds = rules[i].milliseconds;
  }
  if (code == SUCCESS && g && !g->is_there) code = INVALID_ARGUMENT;
  if (code == SUCCESS && g && number(g, "lost", 0)) code = GPU_IS_LOST;
  int is_logged = atoi(machine_word("log", "0"));
  unlock_fake();
  if (is_logged) note_call(function);
  if (milliseconds) {
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, 0);
  }
  return code;
}
