# Every library that fathom links, from Debian 12's packages, each as one target.
include(FindPkgConfig)

find_package(Threads REQUIRED)
set(Boost_NO_WARN_NEW_VERSIONS ON)  # this CMake is a little older than this Boost
find_package(Boost 1.81 EXACT REQUIRED COMPONENTS json)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(GTest REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(RocksDB CONFIG REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf)
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)  # comes with libdw's headers
# Debian's libipt and Zydis come without a file for pkg-config or CMake.
foreach(library ipt Zydis)
  find_library(FATHOM_LIB_${library} ${library} REQUIRED)
  add_library(fathom_lib_${library} INTERFACE)
  target_link_libraries(fathom_lib_${library} INTERFACE ${FATHOM_LIB_${library}})
endforeach()

add_library(fathom_boost INTERFACE)
target_link_libraries(fathom_boost INTERFACE Boost::headers Boost::json Threads::Threads)
target_compile_definitions(fathom_boost INTERFACE BOOST_ASIO_NO_DEPRECATED)
