# A module is a static library whose include path is visible only to the modules that link it, so an include against
# the direction of the arrows in docs/ARCHITECTURE.md does not compile. Headers are included as "module/part/file.h".

option(WARNINGS_AS_ERRORS "Treat compiler warnings as errors" ON)
option(FUZZ "Also build libFuzzer programs (clang only)" OFF)

add_library(project_warnings INTERFACE)
target_compile_features(project_warnings INTERFACE c_std_17)
target_compile_definitions(project_warnings INTERFACE _GNU_SOURCE IPU_OPERATOR_VERSION="${PROJECT_VERSION}")
target_compile_options(project_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes
    -Wswitch-enum -Wformat=2 -Wundef -ffunction-sections -fdata-sections
    $<$<BOOL:${WARNINGS_AS_ERRORS}>:-Werror>)
target_link_options(project_warnings INTERFACE -Wl,--gc-sections)
if(FUZZ)
    target_compile_options(project_warnings INTERFACE -fsanitize=fuzzer-no-link)
endif()

# add_module(NAME base_core DIR base/core SOURCES ... [USES ...])
# DIR is the module's path from the top of the tree; only its own headers are visible to modules that USE it.
function(add_module)
    cmake_parse_arguments(ARG "" "NAME;DIR" "SOURCES;USES" ${ARGN})
    add_library(${ARG_NAME} STATIC ${ARG_SOURCES})
    set_property(GLOBAL APPEND PROPERTY MODULE_LIBS ${ARG_NAME})
    set(view ${PROJECT_BINARY_DIR}/modules/${ARG_NAME})
    file(REMOVE_RECURSE ${view}) # DIR may have been another one when this build was configured before
    get_filename_component(parent ${view}/${ARG_DIR} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${ARG_DIR} ${view}/${ARG_DIR} SYMBOLIC)
    target_include_directories(${ARG_NAME} PUBLIC ${view})
    target_link_libraries(${ARG_NAME} PUBLIC ${ARG_USES} PRIVATE project_warnings)
endfunction()

include(CheckCCompilerFlag)
include(CheckLinkerFlag)
# Hundreds of test programs are linked; gold takes half as long. It does not know all options of static links, of which there are
# none with sanitizers.
check_linker_flag(C -fuse-ld=gold LINKER_HAS_GOLD)
if(LINKER_HAS_GOLD AND CMAKE_C_FLAGS MATCHES "-fsanitize")
    add_link_options(-fuse-ld=gold)
endif()
check_linker_flag(C -Wl,--no-warnings LINKER_HAS_NO_WARNINGS)
# What not every compiler and processor has of a hardened release build; the rest is in CMakePresets.json.
check_c_compiler_flag(-fstack-clash-protection COMPILER_HAS_STACK_CLASH_PROTECTION)
check_c_compiler_flag(-fcf-protection COMPILER_HAS_CF_PROTECTION)
add_compile_options("$<$<CONFIG:Release>:$<$<BOOL:${COMPILER_HAS_STACK_CLASH_PROTECTION}>:-fstack-clash-protection>>"
    "$<$<CONFIG:Release>:$<$<BOOL:${COMPILER_HAS_CF_PROTECTION}>:-fcf-protection>>")
set(CMAKE_REQUIRED_FLAGS -fPIE)
check_linker_flag(C -static-pie LINKER_HAS_STATIC_PIE)
unset(CMAKE_REQUIRED_FLAGS)
set(STATIC_LINK -static)
if(CMAKE_POSITION_INDEPENDENT_CODE AND LINKER_HAS_STATIC_PIE)
    set(STATIC_LINK -static-pie)
endif()

# add_module_program(NAME vipu SOURCES ... USES ... [STATIC])
# MAIN vipu_main instead of SOURCES: the program only calls this function, which other programs may link as well.
function(add_module_program)
    cmake_parse_arguments(ARG "STATIC" "NAME;MAIN" "SOURCES;USES" ${ARGN})
    if(ARG_MAIN)
        set(ARG_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}-main.c)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/main.c.in ${ARG_SOURCES} @ONLY)
    endif()
    add_executable(${ARG_NAME} ${ARG_SOURCES})
    target_link_libraries(${ARG_NAME} PRIVATE ${ARG_USES} project_warnings)
    # The sanitizers' runtime libraries cannot be linked statically.
    if(ARG_STATIC AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
        # The linker warns that getaddrinfo and others load the C library's NSS modules; files and dns are built in, and
        # pods use no others. The dependency file lists the libraries for the image's software bill of materials.
        target_link_options(${ARG_NAME} PRIVATE ${STATIC_LINK} $<$<BOOL:${LINKER_HAS_NO_WARNINGS}>:LINKER:--no-warnings>
            LINKER:--dependency-file=$<TARGET_FILE:${ARG_NAME}>.inputs)
        set_target_properties(${ARG_NAME} PROPERTIES STATIC_PROGRAM ON) # see ext_static_package
    elseif(CMAKE_POSITION_INDEPENDENT_CODE)
        target_link_options(${ARG_NAME} PRIVATE -pie)
    endif()
    set_property(GLOBAL APPEND PROPERTY PROGRAMS ${ARG_NAME})
    install(TARGETS ${ARG_NAME} RUNTIME DESTINATION bin)
endfunction()

# add_program_pages(NAME vipu [COMPLETION completion] [NO_MANUAL])
# The manual page, and with COMPLETION also the shells' scripts, are what the program itself prints. They are made
# together with it, so that a build of the program alone leaves nothing out that `cmake --install` needs.
function(add_program_pages)
    cmake_parse_arguments(ARG "NO_MANUAL" "NAME;COMPLETION" "" ${ARGN})
    set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages)
    file(MAKE_DIRECTORY ${pages})
    if(NOT ARG_NO_MANUAL)
        set(made ${pages}/${ARG_NAME}.1)
        set(commands COMMAND ${ARG_NAME} __man > ${pages}/${ARG_NAME}.1)
        install(FILES ${pages}/${ARG_NAME}.1 DESTINATION share/man/man1)
    endif()
    if(ARG_COMPLETION)
        list(APPEND made ${pages}/${ARG_NAME}.bash ${pages}/_${ARG_NAME} ${pages}/${ARG_NAME}.fish)
        list(APPEND commands
            COMMAND ${ARG_NAME} ${ARG_COMPLETION} bash > ${pages}/${ARG_NAME}.bash
            COMMAND ${ARG_NAME} ${ARG_COMPLETION} zsh > ${pages}/_${ARG_NAME}
            COMMAND ${ARG_NAME} ${ARG_COMPLETION} fish > ${pages}/${ARG_NAME}.fish)
        install(FILES ${pages}/${ARG_NAME}.bash DESTINATION share/bash-completion/completions RENAME ${ARG_NAME})
        install(FILES ${pages}/_${ARG_NAME} DESTINATION share/zsh/site-functions)
        install(FILES ${pages}/${ARG_NAME}.fish DESTINATION share/fish/vendor_completions.d)
    endif()
    add_custom_command(TARGET ${ARG_NAME} POST_BUILD ${commands} BYPRODUCTS ${made} VERBATIM)
endfunction()

# add_page_assets(VARIABLE FILE...)
# The variable is a source with the table page_assets of operator/serve/live/assets.h: page/dist, and these files.
function(add_page_assets variable)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/page/dist/*)
    list(APPEND files ${ARGN})
    set(made ${CMAKE_CURRENT_BINARY_DIR}/page_assets.c)
    add_custom_command(OUTPUT ${made}
        COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DOUT=${made} -P ${PROJECT_SOURCE_DIR}/cmake/assets.cmake
        DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/assets.cmake VERBATIM)
    set(${variable} ${made} PARENT_SCOPE)
endfunction()
