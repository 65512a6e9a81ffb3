# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# osr_corpus(NAME OUT): sets OUT to the list of inputs in the folder NAME of tests/fuzz/corpus.tar.xz, which is
# unpacked below the build directory, anew whenever the archive has changed.
set_property(GLOBAL PROPERTY OSR_CORPUS_DIR ${CMAKE_BINARY_DIR}/corpus)
set(archive ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus.tar.xz)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
file(REMOVE_RECURSE ${CMAKE_BINARY_DIR}/corpus)
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${CMAKE_BINARY_DIR}/corpus)

function(osr_corpus name out)
  file(GLOB inputs ${CMAKE_BINARY_DIR}/corpus/${name}/*)
  set(${out} ${inputs} PARENT_SCOPE)
endfunction()
