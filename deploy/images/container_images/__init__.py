"""Makes container images from recipes, without a Docker engine.

command.py   the command line
recipe.py    reads deploy/images/NAME.toml
rootfs.py    the files of an image, in memory
programs.py  programs built by CMake, with their shared libraries
wheels.py    Python packages of this project
sbom.py      software bill of materials
dpkg_database.py  owners of files on this machine
debian.py    files from Debian packages
archive.py   the docker-archive file, byte for byte reproducible
build.py     recipe to archive, cached by a hash of its inputs
"""
