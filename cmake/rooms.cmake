# A room is a static library whose include path exists only for those who link it, so an include against the
# direction of the arrows in README.md does not compile. Headers are included as "room/part/file.h".

option(WARNINGS_AS_ERRORS "Treat compiler warnings as errors" ON)
option(FUZZ "Also build libFuzzer programs (clang only)" OFF)

add_library(house_flags INTERFACE)
target_compile_features(house_flags INTERFACE c_std_17)
target_compile_definitions(house_flags INTERFACE _GNU_SOURCE IPU_OPERATOR_VERSION="${PROJECT_VERSION}")
target_compile_options(house_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes
    -Wswitch-enum -Wformat=2 -Wundef -ffunction-sections -fdata-sections
    $<$<BOOL:${WARNINGS_AS_ERRORS}>:-Werror>)
target_link_options(house_flags INTERFACE -Wl,--gc-sections)
if(FUZZ)
    target_compile_options(house_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# room_lib(NAME base_core DIR base/core SOURCES ... [USES ...])
# DIR is the room's path from the top of the tree; only its own headers become visible to those who USE it.
function(room_lib)
    cmake_parse_arguments(ARG "" "NAME;DIR" "SOURCES;USES" ${ARGN})
    add_library(${ARG_NAME} STATIC ${ARG_SOURCES})
    set_property(GLOBAL APPEND PROPERTY ROOM_LIBS ${ARG_NAME})
    set(view ${PROJECT_BINARY_DIR}/rooms/${ARG_NAME})
    file(REMOVE_RECURSE ${view}) # DIR may have been another one when this build was configured before
    get_filename_component(parent ${view}/${ARG_DIR} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${ARG_DIR} ${view}/${ARG_DIR} SYMBOLIC)
    target_include_directories(${ARG_NAME} PUBLIC ${view})
    target_link_libraries(${ARG_NAME} PUBLIC ${ARG_USES} PRIVATE house_flags)
endfunction()

include(CheckLinkerFlag)
check_linker_flag(C -Wl,--no-warnings LINKER_KEEPS_QUIET)

# room_program(NAME vipu SOURCES ... USES ... [STATIC])
# MAIN vipu_main in place of SOURCES: that function is the whole program, and other programs may hold it too.
function(room_program)
    cmake_parse_arguments(ARG "STATIC" "NAME;MAIN" "SOURCES;USES" ${ARGN})
    if(ARG_MAIN)
        set(ARG_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}-main.c)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/main.c.in ${ARG_SOURCES} @ONLY)
    endif()
    add_executable(${ARG_NAME} ${ARG_SOURCES})
    target_link_libraries(${ARG_NAME} PRIVATE ${ARG_USES} house_flags)
    # Sanitizers' run times do not link statically.
    if(ARG_STATIC AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
        # The linker warns of getaddrinfo and its like, which want the C library's modules; files and dns are built in,
        # and pods use no others.
        # What went into it is told by the image's list of materials.
        target_link_options(${ARG_NAME} PRIVATE -static $<$<BOOL:${LINKER_KEEPS_QUIET}>:LINKER:--no-warnings>
            LINKER:--dependency-file=$<TARGET_FILE:${ARG_NAME}>.inputs)
        set_target_properties(${ARG_NAME} PROPERTIES STATIC_PROGRAM ON) # see ext_static_package
    endif()
    install(TARGETS ${ARG_NAME} RUNTIME DESTINATION bin)
endfunction()
