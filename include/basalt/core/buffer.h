// An owned block of bytes, 128-byte aligned, whose growth does not zero memory. Every stream and column lives in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace basalt {

using ByteView = std::span<const std::byte>;

class Buffer {
 public:
  static constexpr size_t kAlignment = 128;
  // Readable slack behind the last byte, so that vector loads at the end stay inside the allocation.
  static constexpr size_t kSlack = 128;

  Buffer() = default;
  explicit Buffer(size_t size) { resize(size); }
  Buffer(const Buffer& other) { append(other.data(), other.size()); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  void reserve(size_t capacity);
  void resize(size_t size) {  // new bytes are not initialised
    if (size > capacity_) grow(size);
    size_ = size;
  }
  void append(const void* bytes, size_t count) {
    if (count == 0) return;
    const size_t at = size_;
    resize(size_ + count);
    std::memcpy(data_ + at, bytes, count);
  }
  template <typename T>
  void push(const T& value) {
    append(&value, sizeof(T));
  }

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  template <typename T>
  std::span<const T> span() const {
    return {as<T>(), size_ / sizeof(T)};
  }
  ByteView view() const { return {data_, size_}; }

 private:
  void grow(size_t at_least);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace basalt
