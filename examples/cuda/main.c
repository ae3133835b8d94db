/* Runs generated CUDA from C, with arrays of the host: ./main test.bin
 * Each image in the file is 64 pixels of 0 to 16 and one byte with the right answer. */
#include <stdio.h>

#include "digits.h"

enum { PIXELS = DIGITS_INPUT_0_ELEMENTS, SCORES = DIGITS_OUTPUT_0_ELEMENTS };

static int classify(digits_handle* handle, const unsigned char* record) {
  float pixels[PIXELS], scores[SCORES];
  const void* inputs[] = {pixels};
  void* outputs[] = {scores};
  int i, best = 0;
  for (i = 0; i < PIXELS; ++i) pixels[i] = (float)record[i] / 16.0f;
  if (digits_run_host(handle, inputs, outputs) != DIGITS_OK) return -1;
  for (i = 1; i < SCORES; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}

int main(int argc, char** argv) {
  unsigned char record[PIXELS + 1];
  digits_handle* handle = NULL;
  int images = 0, right = 0, answer = 0;
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: %s test.bin\n", argv[0]);
    return 1;
  }
  if (digits_create(NULL, &handle) != DIGITS_OK) answer = -1;
  while (answer >= 0 && fread(record, sizeof record, 1, file) == 1) {
    answer = classify(handle, record);
    right += answer == record[PIXELS];
    ++images;
  }
  if (answer < 0) fprintf(stderr, "%s\n", digits_error_text(handle));
  digits_destroy(handle);
  fclose(file);
  printf("%d of %d right\n", right, images);
  return answer < 0;
}
