# Every outside library is one ext::NAME target; nothing else in the tree names a package.
find_package(PkgConfig REQUIRED)

function(ext_package name module)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
    add_library(ext::${name} ALIAS PkgConfig::${name})
endfunction()

ext_package(curl libcurl)
ext_package(cjson libcjson)
ext_package(yaml yaml-0.1)
ext_package(uv libuv)
ext_package(nghttp2 libnghttp2)
ext_package(protobufc libprotobuf-c)
ext_package(openssl openssl)
ext_package(sqlite sqlite3)
ext_package(mpi ompi-c)
if(BUILD_TESTING)
    ext_package(cmocka cmocka)
endif()

# Debian's libwebsockets.pc asks for libraries (libcap) that its dynamic library does not need.
find_path(LWS_INCLUDE libwebsockets.h REQUIRED)
find_library(LWS_LIBRARY websockets REQUIRED)
add_library(ext_lws INTERFACE)
target_include_directories(ext_lws SYSTEM INTERFACE ${LWS_INCLUDE})
target_link_libraries(ext_lws INTERFACE ${LWS_LIBRARY} ext::openssl ext::uv)
add_library(ext::lws ALIAS ext_lws)
