#include "base/code_identity.h"

#include <elf.h>
#include <link.h>

#include <cstring>

#include <fmt/format.h>

#include "base/file.h"

namespace stoker {

namespace {

struct Search {
  uintptr_t address = 0;
  std::string found = {};
};

constexpr size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

// The build id in a segment of notes; empty: none.
std::string build_id_in(const char* notes, size_t size) {
  constexpr char kOwner[] = "GNU";
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, notes + at, sizeof(note));
    const char* name = notes + at + sizeof(note);
    const char* value = name + padded(note.n_namesz);
    at += sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz);
    if (at > size) break;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(kOwner) ||
        std::memcmp(name, kOwner, sizeof(kOwner)) != 0)
      continue;
    std::string text;
    for (size_t i = 0; i < note.n_descsz; ++i) text += fmt::format("{:02x}", uint8_t(value[i]));
    return text;
  }
  return {};
}

bool holds(const dl_phdr_info& module, uintptr_t address) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    uintptr_t begin = uintptr_t(module.dlpi_addr) + uintptr_t(segment.p_vaddr);
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz)
      return true;
  }
  return false;
}

std::string identity_of(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader has put it
    const auto* notes = reinterpret_cast<const char*>(module.dlpi_addr + segment.p_vaddr);
    if (std::string id = build_id_in(notes, segment.p_memsz); !id.empty()) return id;
  }
  std::string path = module.dlpi_name[0] == '\0' ? "/proc/self/exe" : module.dlpi_name;
  auto status = local_files().status(path);
  return status ? fmt::format("{}-{}", status->size, status->modified_ns) : "";
}

}  // namespace

std::string code_identity(const void* address) {
  Search search{.address = reinterpret_cast<uintptr_t>(address)};
  ::dl_iterate_phdr(
      [](dl_phdr_info* module, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (!holds(*module, wanted.address)) return 0;
        wanted.found = identity_of(*module);
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace stoker
