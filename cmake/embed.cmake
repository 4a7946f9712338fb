# cmake -DFILE=... -DNAME=... -DOUT=... -P embed.cmake: the bytes of a file as a C array NAME, and their number NAME_len.
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "#include <stddef.h>\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_len;\n"
    "const unsigned char ${NAME}[] = {${bytes}};\nconst size_t ${NAME}_len = sizeof(${NAME});\n")
