// Compiled kernels on disk, so that a second process compiles nothing. They are machine code that will run: the folder
// must belong to this user and be closed to everybody else, or nothing is read from it and nothing written.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

namespace basalt::cuda {

// $XDG_CACHE_HOME/basalt/kernels or ~/.cache/basalt/kernels; empty if neither variable holds an absolute path.
std::string kernel_cache_folder();

// Why what has this status is not trusted by the user `me`: it is somebody else's, or others may write to it.
std::string why_not_trust(const struct stat& status, uid_t me);

// Why the folder is not used; empty if it is, or does not exist yet. Read rights of others are taken away.
std::string why_not_cache_kernels();

// False if there is no such entry, or one that is damaged or not this user's.
bool load_kernel(const std::string& key, std::vector<char>& cubin);
// A cache that cannot be written is no error: the kernel was compiled and runs.
void store_kernel(const std::string& key, const std::vector<char>& cubin);

// Other files that lie beside the kernels, kept by the same rules.
bool load_cached(const std::string& file, std::vector<char>& contents);
void store_cached(const std::string& file, const std::vector<char>& contents);

}  // namespace basalt::cuda
