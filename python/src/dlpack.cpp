#include "dlpack.h"

namespace pybasalt {

namespace {

// DLManagedTensor and DLManagedTensorVersioned of DLPack's header.
struct Managed {
  static constexpr const char* kCapsule = "dltensor";
  nb::dlpack::dltensor tensor;
  void* context = nullptr;
  void (*deleter)(Managed*) = nullptr;
};

struct VersionedManaged {
  static constexpr const char* kCapsule = "dltensor_versioned";
  uint32_t major = 1;
  uint32_t minor = 0;
  void* context = nullptr;
  void (*deleter)(VersionedManaged*) = nullptr;
  uint64_t flags = 0;
  nb::dlpack::dltensor tensor;
};
constexpr uint64_t kReadOnly = 1;
constexpr uint64_t kCopied = 2;

// What a tensor refers to, and the tensor itself.
template <typename Tensor>
struct Shared {
  std::shared_ptr<const void> keeper;
  int64_t length = 0;
  int64_t stride = 1;
  Tensor managed;
};

template <typename Tensor>
Tensor& share(const SharedArray& array) {
  auto* shared = new Shared<Tensor>{array.keeper, array.length, 1, {}};
  Tensor& managed = shared->managed;
  managed.context = shared;
  // Called by whoever took it, from any thread, with the interpreter's lock or without.
  managed.deleter = [](Tensor* self) { delete static_cast<Shared<Tensor>*>(self->context); };
  managed.tensor = {const_cast<void*>(array.data), array.device, 1, array.type, &shared->length, &shared->stride, 0};
  return managed;
}

template <typename Tensor>
nb::object capsule(Tensor& managed) {
  // Whoever takes the tensor renames the capsule.
  const auto release = [](PyObject* self) {
    if (PyCapsule_IsValid(self, Tensor::kCapsule) == 0) return;
    auto* held = static_cast<Tensor*>(PyCapsule_GetPointer(self, Tensor::kCapsule));
    held->deleter(held);
  };
  PyObject* made = PyCapsule_New(&managed, Tensor::kCapsule, release);
  if (made == nullptr) {
    managed.deleter(&managed);
    throw nb::python_error();
  }
  return nb::steal(made);
}

}  // namespace

nb::object dlpack_capsule(const SharedArray& array, bool versioned) {
  if (!versioned) return capsule(share<Managed>(array));
  auto& managed = share<VersionedManaged>(array);
  managed.flags = array.copied ? kCopied : kReadOnly;
  return capsule(managed);
}

}  // namespace pybasalt
