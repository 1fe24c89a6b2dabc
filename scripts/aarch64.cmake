# For aarch64 with Debian's cross compiler; scripts/make_wheel.py says where the libraries of that processor lie.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# libbpf, libelf and zlib: headers, and archives to link statically.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/cross/aarch64)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)  # Python.h and jvmti.h are the same for both
set(CMAKE_C_FLAGS_INIT "-isystem ${CMAKE_FIND_ROOT_PATH}/usr/include")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CMAKE_FIND_ROOT_PATH}/usr/include")
# The module is named after the Python that imports it, not after the one that runs here.
set(SKBUILD_SOABI cpython-311-aarch64-linux-gnu)
