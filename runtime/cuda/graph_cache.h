/* Graphs by what they were made for, of which those that were used last are kept. A graph's key is
 * the hash of the weights, the options it was made with and the sizes of the run, all compared: two
 * models, two ways of launching or two shapes never share one. Included after deploy.h. */
#ifndef QK_GRAPH_CACHE_H
#define QK_GRAPH_CACHE_H

/* What the runtime keeps of one kernel in a graph, about: its parameters and how it is launched. */
#define QK_GRAPH_NODE_BYTES 1024
#define QK_CACHE_ENTRIES 16

typedef struct qk_graph_entry {
  cudaGraphExec_t graph; /* NULL: the entry is empty */
  uint64_t weights, options, used;
  int64_t bytes;
} qk_graph_entry;

/* The same figures as those of quantc's own caches. */
typedef struct qk_cache_stats {
  uint64_t hits, misses, evictions, count, bytes;
  double hit_rate; /* hits per lookup; 0 before the first */
} qk_cache_stats;

typedef struct qk_graph_cache {
  qk_graph_entry* entries;
  int64_t* dims; /* of all entries, `dim_count` each */
  int64_t capacity, dim_count, max_bytes;
  uint64_t clock;
  qk_cache_stats stats;
} qk_graph_cache;

/* At most `entries` graphs of together at most `bytes`; 0: the default, and no limit. */
static inline int qk_cache_open(qk_graph_cache* c, int64_t entries, int64_t bytes,
                                int64_t dim_count) {
  c->capacity = entries > 0 ? entries : QK_CACHE_ENTRIES;
  c->max_bytes = bytes > 0 ? bytes : INT64_MAX;
  c->dim_count = dim_count;
  c->entries = (qk_graph_entry*)calloc((size_t)c->capacity, sizeof *c->entries);
  c->dims =
      (int64_t*)calloc((size_t)(c->capacity * (dim_count > 0 ? dim_count : 1)), sizeof *c->dims);
  return c->entries && c->dims;
}

static inline void qk_cache_drop(qk_graph_cache* c, qk_graph_entry* e) {
  qk_forget(e->graph);
  e->graph = NULL;
  c->stats.bytes -= (uint64_t)e->bytes;
  --c->stats.count;
}

static inline void qk_cache_close(qk_graph_cache* c) {
  for (int64_t i = 0; c->entries && i < c->capacity; ++i) {
    if (c->entries[i].graph) qk_cache_drop(c, &c->entries[i]);
  }
  free(c->entries);
  free(c->dims);
  c->entries = NULL;
  c->dims = NULL;
}

static inline size_t qk_cache_key_size(const qk_graph_cache* c) {
  return (size_t)c->dim_count * sizeof(int64_t);
}

/* The graph of this key, which becomes the one used last; NULL where there is none. */
static inline cudaGraphExec_t qk_cache_get(qk_graph_cache* c, uint64_t weights, uint64_t options,
                                           const int64_t* dims) {
  for (int64_t i = 0; i < c->capacity; ++i) {
    qk_graph_entry* const e = &c->entries[i];
    if (!e->graph || e->weights != weights || e->options != options) continue;
    if (c->dim_count > 0 && memcmp(c->dims + i * c->dim_count, dims, qk_cache_key_size(c)) != 0)
      continue;
    e->used = ++c->clock;
    ++c->stats.hits;
    return e->graph;
  }
  ++c->stats.misses;
  return NULL;
}

/* Makes room for a graph of `bytes`: what was used longest ago goes first. Whether there is any. */
static inline int qk_cache_shrink(qk_graph_cache* c, int64_t bytes) {
  if (bytes > c->max_bytes) return 0;
  while ((int64_t)c->stats.count >= c->capacity || (int64_t)c->stats.bytes + bytes > c->max_bytes) {
    qk_graph_entry* oldest = NULL;
    for (int64_t i = 0; i < c->capacity; ++i) {
      qk_graph_entry* const e = &c->entries[i];
      if (e->graph && (!oldest || e->used < oldest->used)) oldest = e;
    }
    qk_cache_drop(c, oldest);
    ++c->stats.evictions;
  }
  return 1;
}

/* Keeps a graph; one that is larger than all that may be kept is not, and 0 is returned. */
static inline int qk_cache_put(qk_graph_cache* c, uint64_t weights, uint64_t options,
                               const int64_t* dims, cudaGraphExec_t graph, int64_t bytes) {
  if (!qk_cache_shrink(c, bytes)) {
    ++c->stats.evictions;
    return 0;
  }
  int64_t at = 0;
  while (c->entries[at].graph) ++at;
  const qk_graph_entry e = {graph, weights, options, ++c->clock, bytes};
  c->entries[at] = e;
  if (c->dim_count > 0) memcpy(c->dims + at * c->dim_count, dims, qk_cache_key_size(c));
  c->stats.bytes += (uint64_t)bytes;
  ++c->stats.count;
  return 1;
}

static inline qk_cache_stats qk_cache_figures(const qk_graph_cache* c) {
  qk_cache_stats out = c->stats;
  const uint64_t lookups = out.hits + out.misses;
  out.hit_rate = lookups == 0 ? 0 : (double)out.hits / (double)lookups;
  return out;
}

#endif
