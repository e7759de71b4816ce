// A ChecksumTable from the xxHash that was included before; its functions are static, so that each compilation has its
// own. Included inside a namespace.
// NOLINTBEGIN(misc-definitions-in-headers): included once per compilation
extern const ChecksumTable kTable;
const ChecksumTable kTable = {
    [](const void* data, size_t length) -> uint64_t { return XXH3_64bits(data, length); },
    [](XXH3_state_t& state, const void* data, size_t length) { XXH3_64bits_update(&state, data, length); },
    [](const XXH3_state_t& state) -> uint64_t { return XXH3_64bits_digest(&state); }};
// NOLINTEND(misc-definitions-in-headers)
