"""Makes container images from recipes, without a Docker engine.

command.py   the command line
recipe.py    reads deploy/images/NAME.toml
tree.py      the files of an image, in memory
programs.py  what CMake built, with its shared libraries
debian.py    files out of Debian packages
archive.py   the docker-archive file, byte for byte the same for the same tree
build.py     recipe to archive, cached by what went in
"""
