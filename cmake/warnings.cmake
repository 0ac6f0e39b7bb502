# Warnings are errors in our own code. Floating-point contraction is off everywhere: a fused
# multiply-add changes the last bit of a sum, and the last bit decides ties (docs/architecture.md).
add_library(tessera_options INTERFACE)
target_compile_options(tessera_options INTERFACE
    -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast
    -Wcast-qual -Woverloaded-virtual -Wnull-dereference -Wimplicit-fallthrough
    -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 reports these on libstdc++ and fmt internals at -O2; clang checks ours.
    target_compile_options(tessera_options INTERFACE -Wno-null-dereference -Wno-restrict)
    if(TESSERA_SANITIZE)
        # The added checks hide from gcc which paths are possible; the plain build has the warning.
        target_compile_options(tessera_options INTERFACE -Wno-maybe-uninitialized)
    endif()
else()
    # std::stable_sort of libstdc++ 12 uses what it marks as deprecated; clang reports it as ours.
    target_compile_options(tessera_options INTERFACE -Wno-deprecated-declarations)
endif()
target_include_directories(tessera_options INTERFACE ${CMAKE_SOURCE_DIR}/src)

find_program(MOLD mold)
if(MOLD)
    add_link_options(-fuse-ld=mold)
endif()
find_program(CCACHE ccache)
if(CCACHE)
    # Paths relative to the source tree: clones of it share what they compile.
    set(launcher env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=true ${CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
