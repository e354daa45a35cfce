# How adapters in C and C++ are built. An adapter's CMakeLists.txt:
#
#     cmake_minimum_required(VERSION 3.20)
#     project(dyno-NAME C CXX)
#     include(../cmake/DynoAdapter.cmake)
#     dyno_adapter(NAME source.cpp …)           # -> libdyno_NAME.so
#     target_link_libraries(dyno_NAME PRIVATE the-library)
#
# Options: -DDYNO_SANITIZE=ON builds with the address and undefined-behaviour sanitizers.

option(DYNO_SANITIZE "Build with the address and undefined-behaviour sanitizers" OFF)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

get_filename_component(DYNO_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/../../include" ABSOLUTE)
# What adapters in C++ share: operations.hpp.
set(DYNO_SHARED "${CMAKE_CURRENT_LIST_DIR}")

function(dyno_adapter NAME)
    set(target dyno_${NAME})
    add_library(${target} MODULE ${ARGN})
    set_target_properties(
        ${target}
        PROPERTIES C_STANDARD 11
                   C_STANDARD_REQUIRED ON
                   CXX_STANDARD 17
                   CXX_STANDARD_REQUIRED ON
                   C_VISIBILITY_PRESET hidden
                   CXX_VISIBILITY_PRESET hidden
                   VISIBILITY_INLINES_HIDDEN ON
                   POSITION_INDEPENDENT_CODE ON
                   LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}"
                   PREFIX lib
                   SUFFIX .so)
    target_include_directories(${target} PRIVATE "${DYNO_INCLUDE}" "${DYNO_SHARED}")
    target_compile_options(${target} PRIVATE -Wall -Wextra -Werror)
    if(DYNO_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-omit-frame-pointer -g)
        target_link_options(${target} PRIVATE -fsanitize=address,undefined)
    else()
        # What is missing is found when the adapter is built, not when it is loaded.
        target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
endfunction()
