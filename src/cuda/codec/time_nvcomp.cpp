// nvCOMP on the same values, the same device and the same clock as our decoders.
#include <algorithm>
#include <cstring>

#include "cuda/backend.h"
#include "cuda/codec/nvcomp.h"
#include "cuda/runtime/bandwidth.h"

namespace basalt::cuda {

namespace {

constexpr uint64_t kApart = 256;  // more than any of its codecs asks for

void require(int status, const char* doing) {
  if (status != 0) throw Error(ErrorCode::kDevice, std::string("nvCOMP failed while ") + doing);
}

// Pieces of an array on the device, compressed and decompressed there.
class NvcompPieces {
 public:
  NvcompPieces(const NvcompCodec& codec, const DeviceBuffer& values, uint64_t bytes, uint64_t piece,
               cudaStream_t stream)
      : codec_(codec), bytes_(bytes), piece_(piece), pieces_((bytes + piece - 1) / piece), back_(bytes, stream) {
    size_t most = 0;
    require(codec.most_output(piece, codec.compress_options, &most), "asking for the size of its output");
    most = (most + kApart - 1) / kApart * kApart;
    packed_ = DeviceBuffer(most * pieces_, stream);
    plain_at_ = addresses(values, piece, stream);
    packed_at_ = addresses(packed_, most, stream);
    back_at_ = addresses(back_, piece, stream);
    std::vector<size_t> sizes(pieces_, piece);
    sizes.back() = bytes - (pieces_ - 1) * piece;
    plain_bytes_ = upload(sizes.data(), sizes.size() * sizeof(size_t), stream);
    packed_bytes_ = cleared(pieces_ * sizeof(size_t), stream);
    back_bytes_ = cleared(pieces_ * sizeof(size_t), stream);
    statuses_ = cleared(pieces_ * sizeof(int), stream);
    size_t temp = 0, other = 0;
    require(codec.compress_temp_size(pieces_, piece, codec.compress_options, &temp, bytes, stream), "asking for room");
    require(codec.decompress_temp_size(pieces_, piece, codec.decompress_options, &other, bytes, stream),
            "asking for room");
    temp_ = DeviceBuffer(std::max<size_t>({temp, other, kApart}), stream);
  }

  void compress(cudaStream_t stream) const {
    require(codec_.compress(plain_at_.as<const void*>(), plain_bytes_.as<size_t>(), piece_, pieces_, temp_.data(),
                            temp_.bytes(), packed_at_.as<void*>(), packed_bytes_.as<size_t>(), codec_.compress_options,
                            statuses_.as<int>(), stream),
            "compressing");
  }
  void decompress(cudaStream_t stream) const {
    require(codec_.decompress(packed_at_.as<const void*>(), packed_bytes_.as<size_t>(), plain_bytes_.as<size_t>(),
                              back_bytes_.as<size_t>(), pieces_, temp_.data(), temp_.bytes(), back_at_.as<void*>(),
                              codec_.decompress_options, statuses_.as<int>(), stream),
            "decompressing");
  }
  uint64_t packed_bytes(cudaStream_t stream) const {
    const Buffer sizes = download(packed_bytes_, pieces_ * sizeof(size_t), stream);
    uint64_t sum = 0;
    for (const size_t size : sizes.span<size_t>()) sum += size;
    return sum;
  }
  bool gives_back(const void* values, cudaStream_t stream) const {
    return std::memcmp(download(back_, bytes_, stream).data(), values, bytes_) == 0;
  }

 private:
  DeviceBuffer addresses(const DeviceBuffer& memory, uint64_t apart, cudaStream_t stream) const {
    std::vector<std::byte*> out;
    for (uint64_t i = 0; i < pieces_; ++i) out.push_back(memory.as<std::byte>() + i * apart);
    return upload(out.data(), out.size() * sizeof(std::byte*), stream);
  }

  const NvcompCodec& codec_;
  uint64_t bytes_;
  uint64_t piece_;
  uint64_t pieces_;
  DeviceBuffer back_, packed_, plain_at_, packed_at_, back_at_, plain_bytes_, packed_bytes_, back_bytes_, statuses_,
      temp_;
};

}  // namespace

PeerTimings CudaBackend::time_nvcomp(const Values& values, int rounds) {
  const std::lock_guard lock(mutex_);
  use_device();
  PeerTimings out;
  const std::unique_ptr<Nvcomp> nvcomp = Nvcomp::find(&out.reason);
  const uint64_t bytes = values.count * width_of(values.type);
  if (nvcomp == nullptr || bytes == 0) return out;
  const DeviceBuffer plain = upload(values.data, bytes, compute_);
  const ColdCache cold(compute_);
  for (const NvcompCodec& codec : nvcomp->codecs_for(width_of(values.type))) {
    for (const uint64_t piece : {uint64_t{64} << 10, uint64_t{1} << 20}) {
      const NvcompPieces pieces(codec, plain, bytes, piece, compute_);
      PeerTiming one;
      one.codec = codec.name;
      one.piece_bytes = piece;
      one.encode_seconds = median_seconds(cold, rounds, compute_, [&] { pieces.compress(compute_); });
      one.decode_seconds = median_seconds(cold, rounds, compute_, [&] { pieces.decompress(compute_); });
      one.encoded_bytes = pieces.packed_bytes(compute_);
      if (!pieces.gives_back(values.data, compute_)) {
        throw Error(ErrorCode::kInternal, "nvCOMP gives other values back than it was given");
      }
      out.codecs.push_back(one);
    }
  }
  return out;
}

}  // namespace basalt::cuda
