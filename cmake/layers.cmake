# One static library per layer folder, tests beside the code.
#
# add_layer(NAME [PURE] DEPENDS layer... LINKS library... PRIVATE_LINKS library...) collects the
# folder's sources:
#   x.cc                into the library tessera_NAME (an empty folder gives an empty library)
#   x_main.cc           into the executable x ("_" becomes "-"), linked with the library
#   x_test.cc           into the executable NAME_test (GoogleTest, label "unit")
#   x_property_test.cc  into NAME_property_test (rapidcheck, label "property")
#   x_fuzz.cc           each into an executable of its own in the fuzz build (libFuzzer)
# DEPENDS are the layer's allowed edges and PURE forbids I/O, clocks and threads: this file's calls
# in src/CMakeLists.txt are the one table, and tests/layering_test.py checks the includes against it.
# PRIVATE_LINKS are libraries whose headers stay inside the layer's own .cc files.
option(TESSERA_FUZZ "Build the libFuzzer targets (clang only) instead of programs and tests" OFF)
set(TESSERA_PROPERTY_PARAMS "seed=20260101" CACHE STRING
    "rapidcheck's RC_PARAMS for the property tests; a fixed seed makes a failure repeatable")

if(NOT TESSERA_FUZZ)
    find_package(GTest REQUIRED)
    find_package(rapidcheck REQUIRED)
    include(GoogleTest)
endif()

# tessera_add_tests(NAME LABEL SOURCES file... LINKS library...)
function(tessera_add_tests name label)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE tessera_options ${ARG_LINKS} GTest::gmock
                                          GTest::gtest_main)
    # Listed when ctest runs, not when built: a sanitizer build need not run to link.
    gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
                         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                         PROPERTIES LABELS ${label} TIMEOUT 900
                                    ENVIRONMENT "RC_PARAMS=${TESSERA_PROPERTY_PARAMS}")
endfunction()

function(tessera_add_layer_tests layer)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
    set(units ${ARG_SOURCES})
    list(FILTER units EXCLUDE REGEX "_property_test\\.cc$")
    set(properties ${ARG_SOURCES})
    list(FILTER properties INCLUDE REGEX "_property_test\\.cc$")
    if(units)
        tessera_add_tests(${layer}_test unit SOURCES ${units}
                          LINKS tessera_${layer} ${ARG_LINKS})
    endif()
    if(properties)
        tessera_add_tests(${layer}_property_test property SOURCES ${properties}
                          LINKS tessera_${layer} ${ARG_LINKS} rapidcheck)
    endif()
endfunction()

function(tessera_add_fuzzers layer)
    foreach(source ${ARGN})
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        target_link_libraries(${name} PRIVATE tessera_${layer} -fsanitize=fuzzer)
        set_property(GLOBAL APPEND PROPERTY TESSERA_FUZZERS ${name})
    endforeach()
endfunction()

function(tessera_add_programs layer)
    foreach(source ${ARGN})
        get_filename_component(name ${source} NAME_WE)
        string(REGEX REPLACE "_main$" "" name ${name})
        string(REPLACE "_" "-" name ${name})
        add_executable(${name} ${source})
        target_link_libraries(${name} PRIVATE tessera_${layer})
    endforeach()
endfunction()

function(add_layer layer)
    cmake_parse_arguments(ARG "PURE" "" "DEPENDS;LINKS;PRIVATE_LINKS" ${ARGN})
    file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${layer}/*.cc)
    foreach(kind test fuzz main)
        set(${kind}_sources ${all})
        list(FILTER ${kind}_sources INCLUDE REGEX "_${kind}\\.cc$")
    endforeach()
    list(FILTER all EXCLUDE REGEX "_(test|fuzz|main)\\.cc$")

    set(below ${ARG_DEPENDS})
    list(TRANSFORM below PREPEND tessera_)
    if(all)
        add_library(tessera_${layer} STATIC ${all})
        target_link_libraries(tessera_${layer} PUBLIC tessera_options ${ARG_LINKS} ${below}
                                               PRIVATE ${ARG_PRIVATE_LINKS})
    else()
        add_library(tessera_${layer} INTERFACE)
        target_link_libraries(tessera_${layer} INTERFACE tessera_options ${ARG_LINKS} ${below})
    endif()

    if(TESSERA_FUZZ)
        tessera_add_fuzzers(${layer} ${fuzz_sources})
    else()
        tessera_add_layer_tests(${layer} SOURCES ${test_sources} LINKS ${ARG_PRIVATE_LINKS})
        tessera_add_programs(${layer} ${main_sources})
    endif()
endfunction()
