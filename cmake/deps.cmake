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
            message(STATUS "${archive} is missing: programs that need it are linked dynamically, and run only where its libraries are")
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

# deploy/static-libraries makes these.
if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache $ENV{XDG_CACHE_HOME}/ipu-operator)
else()
    set(cache $ENV{HOME}/.cache/ipu-operator)
endif()
file(GLOB libcjson_archive_dirs ${cache}/cjson-*)
file(GLOB libcurl_archive_dirs ${cache}/curl-*)

ext_static_package(cjson libcjson libcjson.a)
ext_static_package(yaml yaml-0.1 libyaml.a)
ext_static_package(uv libuv libuv_a.a)
ext_static_package(nghttp2 libnghttp2 libnghttp2.a)
ext_static_package(protobufc libprotobuf-c libprotobuf-c.a)
ext_static_package(openssl openssl libssl.a libcrypto.a)
ext_package(sqlite sqlite3)
# What only kubectl-ipu needs as an archive; without it, the programs for pods can still be static.
set(tools ${STATIC_TOOLS})
ext_static_package(zlib zlib libz.a)
ext_static_package(curl libcurl libcurl_http.a)
target_link_libraries(ext_curl INTERFACE
    "$<$<BOOL:$<TARGET_PROPERTY:STATIC_PROGRAM>>:ext::nghttp2>" "$<$<BOOL:$<TARGET_PROPERTY:STATIC_PROGRAM>>:ext::openssl>")
set(STATIC_KUBECTL ${STATIC_TOOLS})
set(STATIC_TOOLS ${tools})
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
