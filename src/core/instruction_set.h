// Which of the instruction sets that loops over rows are compiled for this machine has. x86_64 code is built for any
// such machine, so its loops exist three times; other machines have one instruction set.
#pragma once

namespace basalt {

enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

InstructionSet instruction_set();

}  // namespace basalt
