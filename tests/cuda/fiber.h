// Stacks of one thread that take turns. A switch keeps what a called function must keep and nothing else: swapcontext()
// would also ask the kernel for the signal mask, and AddressSanitizer would clean the whole stack, each time.
#pragma once

#include <cstddef>
#include <memory>

namespace basalt::test {

class Fiber {
 public:
  // Stands for the stack that runs already: one to come back to.
  Fiber() = default;
  // Runs enter() when first switched to. enter() must not return; it ends by leave_for_good().
  explicit Fiber(void (*enter)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves this fiber, which is running, for another, and returns when something switches back.
  void switch_to(Fiber& other);
  // The same without return; the stack may then serve another fiber.
  void leave_for_good(Fiber& other);

 private:
  static constexpr size_t kStackBytes = 256 << 10;
  void* top_ = nullptr;  // the stack pointer while another runs
  std::unique_ptr<char[]> stack_;
  bool over_ = false;
};

}  // namespace basalt::test
