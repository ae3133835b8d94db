/* Runs the compiled digits classifier on the bundled test images: ./digits_demo test.bin
 * Each image in the file is 64 pixels of 0 to 16 and one byte with the right answer. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#include "digits.h"

#define IMAGE_PIXELS 64

static _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_BYTES + 1];

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  unsigned char record[IMAGE_PIXELS + 1];
  int images = 0, right = 0;
  double spent = 0;
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: %s test.bin\n", argv[0]);
    return 1;
  }
  while (fread(record, sizeof record, 1, file) == 1) {
    float pixels[IMAGE_PIXELS], scores[10];
    int i, best = 0;
    double start;
    for (i = 0; i < IMAGE_PIXELS; ++i) pixels[i] = (float)record[i] / 16.0f;
    start = seconds();
    if (digits_run(pixels, scores, arena) != 0) return 1;
    spent += seconds() - start;
    for (i = 1; i < 10; ++i) {
      if (scores[i] > scores[best]) best = i;
    }
    right += best == record[IMAGE_PIXELS];
    ++images;
  }
  fclose(file);
  if (images == 0) return 1;
  printf("accuracy %d of %d (%.2f %%)\n", right, images, 100.0 * right / images);
  printf("time     %.2f us per image\n", 1e6 * spent / images);
  return 0;
}
