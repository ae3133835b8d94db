#include "quantc/interrupt.h"

#include "support/interrupt.h"

namespace quantc {

void set_interrupt_check(bool (*check)()) { qc::interrupt_check = check; }

}  // namespace quantc
