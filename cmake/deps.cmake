# Every outside library is one ext::NAME target; nothing else in the tree names a package.
find_package(PkgConfig REQUIRED)

function(ext_package name module)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
    add_library(ext::${name} ALIAS PkgConfig::${name})
endfunction()

# ext_static_package(NAME MODULE ARCHIVE...): the same; programs that add_module_program links statically get the archives.
# STATIC_TOOLS is STATIC as long as all of them are there, and empty otherwise.
set(STATIC_TOOLS STATIC)
function(ext_static_package name module)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
    set(found)
    foreach(archive ${ARGN})
        find_library(ARCHIVE_${archive} ${archive} HINTS ${${module}_archive_dirs})
        if(NOT ARCHIVE_${archive})
            message(STATUS "${archive} is missing: what goes into pods is linked dynamically, and runs only where its libraries are")
            set(STATIC_TOOLS "" PARENT_SCOPE)
        endif()
        list(APPEND found ${ARCHIVE_${archive}})
    endforeach()
    add_library(ext_${name} INTERFACE)
    target_include_directories(ext_${name} SYSTEM INTERFACE
        $<TARGET_PROPERTY:PkgConfig::${name},INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(ext_${name} INTERFACE
        "$<IF:$<BOOL:$<TARGET_PROPERTY:STATIC_PROGRAM>>,${found},PkgConfig::${name}>")
    add_library(ext::${name} ALIAS ext_${name})
endfunction()

# Debian has no static cJSON; deploy/static-cjson makes one.
if(DEFINED ENV{XDG_CACHE_HOME})
    file(GLOB libcjson_archive_dirs $ENV{XDG_CACHE_HOME}/ipu-operator/cjson-*)
else()
    file(GLOB libcjson_archive_dirs $ENV{HOME}/.cache/ipu-operator/cjson-*)
endif()

ext_package(curl libcurl)
ext_static_package(cjson libcjson libcjson.a)
ext_static_package(yaml yaml-0.1 libyaml.a)
ext_static_package(uv libuv libuv_a.a)
ext_static_package(nghttp2 libnghttp2 libnghttp2.a)
ext_static_package(protobufc libprotobuf-c libprotobuf-c.a)
ext_static_package(openssl openssl libssl.a libcrypto.a)
ext_package(sqlite sqlite3)
ext_package(zlib zlib)
ext_package(mpi ompi-c)
if(BUILD_TESTING)
    ext_package(cmocka cmocka)
    ext_package(jemalloc jemalloc)
endif()

# Debian's libwebsockets.pc asks for libraries (libcap) that its dynamic library does not need.
find_path(LWS_INCLUDE libwebsockets.h REQUIRED)
find_library(LWS_LIBRARY websockets REQUIRED)
add_library(ext_lws INTERFACE)
target_include_directories(ext_lws SYSTEM INTERFACE ${LWS_INCLUDE})
target_link_libraries(ext_lws INTERFACE ${LWS_LIBRARY} ext::openssl ext::uv)
add_library(ext::lws ALIAS ext_lws)
