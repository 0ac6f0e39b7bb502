# TESSERA_SANITIZE: a value for -fsanitize= (e.g. "address,undefined"), applied to every target.
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers to build with")
if(TESSERA_SANITIZE)
    add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TESSERA_SANITIZE})
    # For tests that take fewer rounds where each costs ten times as much.
    add_compile_definitions(TESSERA_SANITIZED=1)
endif()
# The fuzz build instruments all of our code for coverage; only the fuzzers link the engine.
if(TESSERA_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
