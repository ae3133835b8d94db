/* Starts main on a Cortex-M of qemu, whose host does input and output (semihosting). qemu loads all
 * sections to where they run. */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char** argv);
void initialise_monitor_handles(void);
extern uint32_t stack_top;

void _fini(void) {} /* what exit of newlib calls */

void reset(void) {
#if defined(__ARM_FP)
  *(volatile uint32_t*)0xE000ED88u |= 0xFu << 20; /* the coprocessors of the FPU may be used */
  __asm__ volatile("dsb\n\tisb");
#endif
  initialise_monitor_handles();
  exit(main(0, NULL));
}

static void fault(void) { _Exit(99); }

__attribute__((section(".vectors"), used)) static const void* const vectors[16] = {
    &stack_top,         (const void*)reset, (const void*)fault, (const void*)fault,
    (const void*)fault, (const void*)fault, (const void*)fault};
