# Rules as tests: layering, headers that compile alone, style, and what the scripts at the root refuse.
# Each check has a test that it can fail.
find_program(PYTHON3 python3)
if(NOT PYTHON3)
    message(STATUS "python3 is missing: the layering and style checks are left out")
endif()

# tessera_add_check(NAME LABEL COMMAND...)
function(tessera_add_check name label)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77
                                            ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endfunction()

if(PYTHON3)
    set(here ${CMAKE_CURRENT_SOURCE_DIR})
    tessera_add_check(layering.includes layering ${PYTHON3} ${here}/layering_test.py)
    tessera_add_check(layering.can_fail layering ${PYTHON3} ${here}/checks_self_test.py layering)
    tessera_add_check(style.rules style ${PYTHON3} ${here}/style_test.py)
    tessera_add_check(style.format style ${PYTHON3} ${here}/style_test.py --format)
    tessera_add_check(style.scripts style ${PYTHON3} ${here}/style_test.py --scripts)
    tessera_add_check(style.can_fail style ${PYTHON3} ${here}/checks_self_test.py style)
    tessera_add_check(style.entry_points style ${PYTHON3} ${here}/scripts_test.py)
endif()

# tessera_headers_alone(TARGET header...): compiles a file per header that includes it, twice, and
# nothing else. Without optimisation: only the front end matters.
function(tessera_headers_alone target)
    set(sources)
    foreach(header ${ARGN})
        file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${header})
        set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.cc)
        file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
        list(APPEND sources ${source})
    endforeach()
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(${target} PRIVATE tessera_options)
    target_compile_options(${target} PRIVATE -O0 -g0)
    add_test(NAME headers.${target}
             COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${target} -j2)
    # Two builds in one tree at a time would disturb each other.
    set_tests_properties(headers.${target} PROPERTIES LABELS headers RESOURCE_LOCK build_tree)
endfunction()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.h)
tessera_headers_alone(compile_alone ${headers})
tessera_headers_alone(can_fail ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/header_not_alone.h)
set_tests_properties(headers.can_fail PROPERTIES
                     PASS_REGULAR_EXPRESSION "header_not_alone\\.h:[0-9]+:[0-9]+: error")
