# gRPC for an adapter: its libraries, and what protoc makes of files below a folder.
#
#     dyno_grpc(TARGET FOLDER one.proto …)

find_package(PkgConfig REQUIRED)
pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc++ protobuf)
find_package(Threads REQUIRED)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

function(dyno_grpc TARGET FOLDER)
    set(made "${CMAKE_BINARY_DIR}/made")
    file(MAKE_DIRECTORY "${made}")
    foreach(proto ${ARGN})
        string(REGEX REPLACE "\\.proto$" "" stem ${proto})
        set(files "${made}/${stem}.pb.cc" "${made}/${stem}.grpc.pb.cc")
        add_custom_command(
            OUTPUT ${files}
            COMMAND ${PROTOC} -I "${FOLDER}" "--cpp_out=${made}" "--grpc_out=${made}"
                    "--plugin=protoc-gen-grpc=${GRPC_PLUGIN}" ${proto}
            DEPENDS "${FOLDER}/${proto}")
        # Not our code: its warnings are not ours either.
        set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS -w)
        target_sources(${TARGET} PRIVATE ${files})
    endforeach()
    target_include_directories(${TARGET} SYSTEM PRIVATE "${made}")
    target_include_directories(${TARGET} PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
    target_link_libraries(${TARGET} PRIVATE PkgConfig::GRPC Threads::Threads)
endfunction()
