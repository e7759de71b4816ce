#include "cuda/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

// Pushes the registers that a function keeps for its caller, exchanges the stack pointer, pops them again.
extern "C" void basalt_test_switch_stack(void** leave, void* enter);

#if defined(__aarch64__)
asm(R"(
.text
.balign 16
.global basalt_test_switch_stack
.type basalt_test_switch_stack, %function
basalt_test_switch_stack:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
.size basalt_test_switch_stack, .-basalt_test_switch_stack
)");
namespace {
constexpr size_t kSavedWords = 20;
constexpr size_t kReturnWord = 1;  // of the saved ones: x30
constexpr size_t kWordsAbove = 0;
}  // namespace
#elif defined(__x86_64__)
asm(R"(
.text
.balign 16
.global basalt_test_switch_stack
.type basalt_test_switch_stack, @function
basalt_test_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size basalt_test_switch_stack, .-basalt_test_switch_stack
)");
namespace {
constexpr size_t kSavedWords = 7;
constexpr size_t kReturnWord = 6;
constexpr size_t kWordsAbove = 1;  // a function finds the stack 8 bytes off a multiple of 16
}  // namespace
#else
#error "fibers know aarch64 and x86_64"
#endif

namespace basalt::test {

namespace {

// Stacks of fibers that have ended: most blocks are short, and new stacks cost more than they do.
std::vector<std::unique_ptr<char[]>>& spare_stacks() {
  static thread_local std::vector<std::unique_ptr<char[]>> stacks;
  return stacks;
}

}  // namespace

Fiber::Fiber(void (*enter)()) {
  std::vector<std::unique_ptr<char[]>>& spare = spare_stacks();
  if (spare.empty()) {
    stack_ = std::make_unique_for_overwrite<char[]>(kStackBytes);
  } else {
    stack_ = std::move(spare.back());
    spare.pop_back();
  }
  // Stacks that begin a power of two apart would all want the same lines of the cache.
  static thread_local size_t made = 0;
  const size_t shift = made++ % 64 * 1088;
  const uintptr_t end = reinterpret_cast<uintptr_t>(stack_.get() + kStackBytes - shift) / 16 * 16;
  auto* saved = reinterpret_cast<uintptr_t*>(end) - kWordsAbove - kSavedWords;
  for (size_t i = 0; i < kSavedWords + kWordsAbove; ++i) saved[i] = 0;
  saved[kReturnWord] = reinterpret_cast<uintptr_t>(enter);
  top_ = saved;
}

Fiber::~Fiber() {
  if (over_) spare_stacks().push_back(std::move(stack_));
}

void Fiber::switch_to(Fiber& other) { basalt_test_switch_stack(&top_, other.top_); }

void Fiber::leave_for_good(Fiber& other) {
  over_ = true;
  switch_to(other);
  std::abort();
}

}  // namespace basalt::test
