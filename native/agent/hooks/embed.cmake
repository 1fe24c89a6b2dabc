# cmake -DINPUT=X.class -DNAME=kHookClassFile -DOUTPUT=hook_class.h -P embed.cmake: the bytes of a class file as a C++ array.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "// Made from ${INPUT} by embed.cmake.\n#pragma once\n\n#include <cstdint>\n\n"
     "namespace headway::agent {\ninline constexpr uint8_t ${NAME}[] = {\n${bytes}};\n}  // namespace headway::agent\n")
